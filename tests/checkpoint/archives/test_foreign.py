"""Which names in a pickle run something when its own library loads it."""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.archives.foreign import hostile
from ckptplan.checkpoint.pickles.values import Global

HOSTILE = (
    ("os", "system"), ("posix", "system"), ("nt", "system"), ("subprocess", "Popen"), ("builtins", "eval"),
    ("__builtin__", "exec"), ("builtins", "getattr"), ("builtins", "__import__"), ("io", "open"), ("sys", "exit"),
    ("runpy", "_run_code"), ("importlib", "import_module"), ("socket", "create_connection"), ("shutil", "rmtree"),
    ("ctypes", "CDLL"), ("pty", "spawn"), ("codecs", "open"), ("operator", "attrgetter"), ("functools", "partial"),
    ("webbrowser", "open"), ("pickle", "loads"), ("torch.hub", "load"), ("torch", "load"), ("numpy", "load"),
    ("torch.distributed.checkpoint.metadata", "os.system"), ("my.module", "Class.__init__"), ("types", "CodeType"),
    ("numpy.testing._private.utils", "runstring"), ("cloudpickle.cloudpickle", "_make_function"), ("timeit", "timeit"),
    ("commands", "getoutput"), ("", "x"), ("asyncio.subprocess", "create_subprocess_shell"), ("my", "eval"),
    ("torch.storage", "_load_from_bytes"), ("pathlib", "os.system"),
    ("datetime", "sys.exit"), ("torch.fx.graph_module", "reduce_graph_module"),
)  # fmt: skip
HONEST = (
    ("argparse", "Namespace"), ("collections", "OrderedDict"), ("transformers.training_args", "TrainingArguments"),
    ("transformers.trainer_utils", "IntervalStrategy"), ("accelerate.state", "PartialState"), ("pathlib", "PosixPath"),
    ("pathlib._local", "PosixPath"), ("numpy._core.multiarray", "scalar"), ("datetime", "timedelta"),
    ("deepspeed.runtime.fp16.loss_scaler", "LossScaler"), ("deepspeed.runtime.zero.config", "ZeroStageEnum"),
    ("deepspeed.utils.tensor_fragment", "fragment_address"), ("_codecs", "encode"), ("builtins", "set"),
    ("omegaconf.dictconfig", "DictConfig"), ("megatron.core.enums", "ModelType"), ("my.module", "Outer.Inner"),
    ("fairseq.data.dictionary", "Dictionary"), ("__main__", "Config"), ("uuid", "UUID"), ("copy_reg", "_reconstructor"),
    ("torch.nn.modules.linear", "Linear"), ("torch", "device"), ("types", "SimpleNamespace"),
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_run_something_are_hostile(name: tuple[str, str]) -> None:
    """The standard library beyond plain types, loaders of other libraries, and dots that lead on from a module."""
    assert hostile([Global(*name)]) == (Global(*name),)


@pytest.mark.parametrize("name", HONEST)
def test_classes_of_honest_checkpoints_are_not(name: tuple[str, str]) -> None:
    """Names that were seen in checkpoints of the usual libraries."""
    assert hostile([Global(*name)]) == ()


def test_each_name_is_given_once() -> None:
    """In the order of the file."""
    names = [Global("os", "system"), Global("my", "C"), Global("io", "open"), Global("os", "system")]
    assert hostile(names) == (Global("os", "system"), Global("io", "open"))
