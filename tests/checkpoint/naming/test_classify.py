from __future__ import annotations

import random

import pytest

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.naming.classify import Entry, Named, classify
from ckptplan.checkpoint.naming.vocabulary import SLOTS
from tests.checkpoint.shared_fixtures import KINDS, NAMES, needs_collection, truth_of

PARAMETER, FIRST, SECOND, STEP = (
    StateKind.PARAMETER,
    StateKind.FIRST_MOMENT,
    StateKind.SECOND_MOMENT,
    StateKind.OPTIMIZER_STEP,
)


def tensor(key: str, *path: str | int, dtype: str = "float32", shape: tuple[int, ...] = (4,)) -> Entry:
    """A tensor of a checkpoint."""
    return Entry(key, path, True, dtype, shape)


def thing(key: str, *path: str | int, fp8: bool | None = None) -> Entry:
    """An object of a checkpoint."""
    return Entry(key, path, False, fp8=fp8)


def kinds(*entries: Entry) -> list[StateKind]:
    """What the entries of one checkpoint are."""
    return [named.kind for named in classify(entries)]


def one(entry: Entry, *others: Entry) -> Named:
    """The first entry, among others."""
    return classify([entry, *others])[0]


@needs_collection
@pytest.mark.parametrize("family", ["dcp-", "megatron-", "torch-save-full", "orbax-", "hf-safetensors", "fsdp1"])
def test_kinds_of_checkpoints_as_written(family):
    """Every tensor and object of checkpoints of all layouts is what the library that wrote it says."""
    seen = 0
    for name in [name for name in NAMES if name.startswith(family)]:
        told = truth_of(name)
        entries, expected = [], []
        for group, is_tensor in (("tensors", True), ("objects", False)):
            for key, entry in told.get(group, {}).items():
                path = () if family == "megatron-" else tuple(entry.get("path", ()))
                looked = entry["kind"] == "fp8" if not is_tensor else None
                entries.append(Entry(key, path, is_tensor, entry.get("dtype"), tuple(entry.get("shape", ())), looked))
                expected.append(KINDS[entry["kind"]])
        assert kinds(*entries) == expected, name
        seen += len(entries)
    assert seen > 15


def test_a_nested_optimizer_state_names_its_parameter():
    """``optim.state.<name>.exp_avg`` belongs to the tensor that the model has by this name."""
    model = tensor("model.layers.0.w", "model", "layers.0.w")
    state = tensor("optim.state.layers.0.w.exp_avg_sq", "optim", "state", "layers.0.w", "exp_avg_sq")
    assert classify([state, model]) == [Named(SECOND, model.key), Named(PARAMETER, model.key)]


def test_a_flattened_optimizer_state_names_its_parameter():
    """One path element ``state.<name>.exp_avg`` is taken apart by the names of the model."""
    model = tensor("layers.0.weight", "layers.0.weight")
    moment = tensor("optimizer.state.layers.0.weight.exp_avg", "optimizer", "state.layers.0.weight.exp_avg")
    rate = thing("optimizer.param_groups.layers.0.weight.lr", "optimizer", "param_groups.layers.0.weight.lr")
    found = classify([moment, rate, model])
    assert found == [
        Named(FIRST, model.key),
        Named(StateKind.HYPERPARAMETERS, model.key),
        Named(PARAMETER, model.key),
    ]


@pytest.mark.parametrize("optimizer", ["optimizer.state.", "optim.state.", "opt.", "optim.", "adam.", ""])
@pytest.mark.parametrize("prefix", ["model.", ""])
@pytest.mark.parametrize("paths", [True, False])
def test_flat_state_dicts_with_a_prefix(optimizer, prefix, paths):
    """Where the whole dotted name is one element of the path, no moment becomes a parameter."""
    slots = ("exp_avg", "exp_avg_sq", "step") if optimizer != "adam." else ("exp_avg", "exp_avg_sq")
    names = [f"layers.{n}.{leaf}" for n in range(2) for leaf in ("w", "norm.weight")]
    keys = [f"{prefix}{name}" for name in names]
    states = [f"{optimizer}{name}.{slot}" for name in names for slot in slots]
    found = classify([tensor(key, *((key,) if paths else ())) for key in (*keys, *states)])
    assert found[: len(keys)] == [Named(PARAMETER, key) for key in keys]
    assert found[len(keys) :] == [Named(SLOTS[slot], key) for key in keys for slot in slots]


def test_a_flat_state_is_that_of_the_longest_name_that_fits():
    """`optim.a.w.exp_avg` belongs to `a.w`, not to a parameter `w`."""
    keys = ["w", "a.w", "optim.a.w.exp_avg", "optim.w.exp_avg"]
    assert [named.parameter for named in classify([tensor(key, key) for key in keys])] == ["w", "a.w", "a.w", "w"]


def test_flat_state_dicts_within_a_container_and_by_numbers():
    """`app.optim.state.<name>.exp_avg`, and `optimizer.state.<number>.exp_avg` with its groups, as one element."""
    keys = ["app.model.l.w", "app.optim.state.l.w.exp_avg", "app.step"]
    assert kinds(*(tensor(key, key) for key in keys[:2]), thing(keys[2], keys[2])) == [
        PARAMETER, FIRST, StateKind.PROGRESS,
    ]  # fmt: skip
    keys = ["model.l.w", "optimizer.state.0.exp_avg", "optimizer.param_groups.0.lr"]
    assert kinds(*(tensor(key, key) for key in keys[:2]), thing(keys[2], keys[2])) == [
        PARAMETER, FIRST, StateKind.HYPERPARAMETERS,
    ]  # fmt: skip
    group = thing("optim.param_groups.0.lr", "optim.param_groups.0", "lr")
    assert one(group, tensor("model.l.w", "model.l.w")).kind is StateKind.HYPERPARAMETERS


def test_words_of_states_behind_a_parameter_name_of_the_model_stay_its_own():
    """A module of a contained model may be called like a slot, and one of it like a parameter."""
    assert (
        kinds(tensor("model.b", "model", "b"), tensor("model.a.b.exp_avg", "model", "a.b.exp_avg")) == [PARAMETER] * 2
    )
    assert kinds(tensor("b", "b"), tensor("attn.b.v", "attn.b.v")) == [PARAMETER] * 2


def test_a_state_whose_slot_comes_first_names_its_parameter():
    """Megatron's ``optimizer.state.exp_avg_sq.<name>`` is the second moment, and not of ``sq.<name>``."""
    model = tensor("decoder.final.weight")
    states = [tensor(f"optimizer.state.{slot}.decoder.final.weight") for slot in ("fp32_param", "exp_avg_sq")]
    assert classify([*states, model])[:2] == [Named(StateKind.MASTER, model.key), Named(SECOND, model.key)]


@pytest.mark.parametrize("name", ["exp_avg", "step", "state.step", "exp_avg.exp_avg_sq", "param_groups.state.lr"])
@pytest.mark.parametrize("layout", ["nested", "flattened", "spelt only"])
def test_parameters_that_are_called_like_states(name, layout):
    """A parameter's own name may be that of a state: every state is still of that parameter, and of its kind."""
    paths = {
        "nested": lambda slot: ("optim", "state", name, slot),
        "flattened": lambda slot: ("optim", f"state.{name}.{slot}"),
        "spelt only": lambda slot: (),
    }
    model = tensor(f"model.{name}", *(("model", name) if layout != "spelt only" else ()))
    slots = ("exp_avg", "exp_avg_sq", "step")
    states = [tensor(f"optim.state.{name}.{slot}", *paths[layout](slot)) for slot in slots]
    assert classify([model, *states]) == [
        Named(PARAMETER, model.key),
        Named(FIRST, model.key),
        Named(SECOND, model.key),
        Named(STEP, model.key),
    ]


def test_a_module_called_like_an_optimizer():
    """A model without prefix may have a module ``optimizer.state``: its tensor has optimizer state, and is no state."""
    model = tensor("optimizer.state.weight")
    states = [tensor(f"optimizer.state.optimizer.state.weight.{slot}") for slot in ("exp_avg", "step")]
    assert classify([model, *states]) == [
        Named(PARAMETER, model.key),
        Named(FIRST, model.key),
        Named(STEP, model.key),
    ]


@pytest.mark.parametrize("seed", range(100))
def test_random_names_out_of_the_words_of_optimizers(seed):
    """Whatever words of a checkpoint the names of parameters are made of, every state finds its own."""
    draw = random.Random(seed)  # noqa: S311
    words = ["exp_avg", "exp_avg_sq", "step", "state", "param_groups", "optimizer", "model", "0", "1", "weight", "sq"]
    names: list[str] = []
    while len(names) < 12:
        name = ".".join(draw.choices(words, k=draw.randint(1, 4)) + ["weight"] * draw.randint(0, 1))
        # No module is a parameter at the same time.
        if not any(f"{name}.".startswith(f"{other}.") or f"{other}.".startswith(f"{name}.") for other in names):
            names.append(name)
    layout = draw.choice(["nested", "flattened"])
    entries, expected = [], []
    for name in names:
        key = f"model.{name}"
        entries.append(tensor(key, "model", name))
        expected.append(Named(PARAMETER, key))
        for slot in ("exp_avg", "exp_avg_sq", "step"):
            path = ("optim", "state", name, slot) if layout == "nested" else ("optim", f"state.{name}.{slot}")
            entries.append(tensor(f"optim.state.{name}.{slot}", *path))
            expected.append(Named(SLOTS[slot], key))
    order = list(range(len(entries)))
    draw.shuffle(order)
    assert classify([entries[at] for at in order]) == [expected[at] for at in order]


def test_states_by_number_have_no_known_parameter():
    """``optim.state.0.exp_avg`` is a first moment; of which parameter, nothing says."""
    states = [tensor(f"optim.state.{n}.exp_avg", "optim", "state", n, "exp_avg") for n in range(2)]
    model = [tensor(f"model.{name}", "model", name) for name in ("a.weight", "b.weight")]
    assert [named.parameter for named in classify([*states, *model])] == [
        None,
        None,
        "model.a.weight",
        "model.b.weight",
    ]


def test_lists_of_optimizers_and_of_models():
    """Pipeline stages kept in lists: the states of each stage find the tensor of their name."""
    entries = [
        tensor("model.1.norm.weight", "model", 1, "norm.weight"),
        tensor("optim.1.state.norm.weight.exp_avg", "optim", 1, "state", "norm.weight", "exp_avg"),
        thing("optim.1.param_groups.0.lr", "optim", 1, "param_groups", 0, "lr"),
    ]
    assert classify(entries) == [
        Named(PARAMETER, entries[0].key),
        Named(FIRST, entries[0].key),
        Named(StateKind.HYPERPARAMETERS),
    ]


@pytest.mark.parametrize(
    ("leaf", "kind"), [("exp_avg", FIRST), ("param", StateKind.MASTER), ("exp_avg_sq", SECOND), ("x", StateKind.OTHER)]
)
def test_flat_buckets_of_a_distributed_optimizer(leaf, kind):
    """Megatron's older buckets hold the states of many parameters: known by their leaf, and of no parameter."""
    where = "dp_group_idx_0.gbuf_idx_0.dtype_(torch.bfloat16, torch.float32).bucket_idx_0"
    for optimizer in ("optimizer.distributed", "chained_0.optimizer.distributed"):
        entry = tensor(f"{optimizer}.{where}.{leaf}")
        assert one(entry, tensor("decoder.weight")) == Named(kind)


def test_the_container_of_tutorials_is_looked_through():
    """``app.model`` and ``app.optim`` are a model and its optimizer."""
    entries = [
        tensor("app.model.net1.weight", "app", "model", "net1.weight"),
        tensor("app.optim.state.net1.weight.exp_avg", "app", "optim", "state", "net1.weight", "exp_avg"),
        thing("app.step", "app", "step"),
    ]
    assert kinds(*entries) == [PARAMETER, FIRST, StateKind.PROGRESS]


@pytest.mark.parametrize(
    ("slot", "kind"),
    [
        ("momentum_buffer", FIRST), ("exp_avg_sq_row", SECOND), ("exp_avg_sq_col", SECOND), ("max_exp_avg_sq", SECOND),
        ("square_avg", SECOND), ("state1", FIRST), ("absmax1", FIRST), ("qmap1", FIRST), ("state2", SECOND),
        ("absmax2", SECOND), ("qmap2", SECOND), ("exp_avg.codes", FIRST), ("exp_avg_sq.scale", SECOND),
        ("shampoo.factor_matrices.0", SECOND), ("master_param", StateKind.MASTER), ("fp32", StateKind.MASTER),
        ("prev_grad", StateKind.OTHER),
    ],
)  # fmt: skip
def test_states_of_other_optimizers(slot, kind):
    """SGD, Adafactor, AMSGrad, RMSprop, 8-bit Adam, Shampoo: first and second moments, masters, and what is neither."""
    entries = [tensor(f"optim.state.l.weight.{slot}", "optim", f"state.l.weight.{slot}"), tensor("model.l.weight")]
    rate = thing("optim.param_groups.l.weight.lr", "optim", "param_groups.l.weight.lr")
    assert one(*entries, rate) == Named(kind, "model.l.weight")


@pytest.mark.parametrize(
    ("key", "kind", "rank"),
    [
        ("dataloader.rank_3", StateKind.DATA_POSITION, 3), ("dataloader.dp_rank_12", StateKind.DATA_POSITION, 12),
        ("dataloader.world_size", StateKind.DATA_POSITION, None), ("rng.rank_7.python", StateKind.RANDOM, 7),
        ("rng_state/shard_0.1_1.2", StateKind.RANDOM, None), ("grad_scaler.scale", StateKind.LOSS_SCALER, None),
        ("lr_scheduler._last_lr", StateKind.SCHEDULER, None), ("train_state.log", StateKind.PROGRESS, None),
        ("train_state.rng.rank_1", StateKind.RANDOM, 1), ("step", StateKind.PROGRESS, None),
        ("args.lr", StateKind.OTHER, None), ("lr_scheduler", StateKind.SCHEDULER, None),
    ],
)  # fmt: skip
def test_states_of_a_run(key, kind, rank):
    """Positions, random-number states, scalers, schedulers and progress by their section, with the rank they name."""
    path = tuple(key.split(".")) if "/" not in key else ()
    assert one(thing(key, *path)) == Named(kind, None, rank)


def test_a_per_rank_tensor_has_its_rank():
    """The state of a rank's generator is a tensor of that rank's own."""
    assert one(tensor("rng.rank_2.torch", "rng", "rank_2", "torch")) == Named(StateKind.RANDOM, None, 2)


def test_buffers_are_what_no_optimizer_trains():
    """Known names unless trained, and leaves that never have state; weights without any are frozen or tied."""
    trained = ["a.weight", "a.gain", "a.inv_freq"]
    states = [tensor(f"optim.state.{name}.exp_avg", "optim", "state", name, "exp_avg") for name in trained]
    names = [*trained, "b.running_mean", "b.cache", "b.weight", "b.gain"]
    found = kinds(*(tensor(f"model.{name}", "model", name) for name in names), *states)
    buffer = StateKind.BUFFER
    assert found[:7] == [PARAMETER, PARAMETER, PARAMETER, buffer, buffer, PARAMETER, PARAMETER]


def test_without_optimizer_state_only_known_names_are_buffers():
    """In a checkpoint of weights alone nothing tells an unknown leaf from a parameter."""
    assert kinds(tensor("layer.cache"), tensor("rope_inv_freq")) == [PARAMETER, StateKind.BUFFER]


def test_extra_state_is_fp8_only_when_found_to_be():
    """An object called ``_extra_state`` exists in runs without FP8 too."""
    entries = [thing("model.a._extra_state", "model", "a._extra_state", fp8=fp8) for fp8 in (True, False, None)]
    assert kinds(*entries) == [StateKind.FP8, StateKind.OTHER, StateKind.OTHER]


def test_scales_are_fp8_by_their_whole_leaf():
    """``scale_inv`` is FP8 state; ``scale`` is a parameter; ``weight_scale`` is FP8 only beside a tensor of 8 bits."""
    entries = [
        tensor("a.scale_inv"),
        tensor("a.scale"),
        tensor("a.fp8_amax_history_input"),
        tensor("b.weight_scale"),
        tensor("c.weight_scale"),
        tensor("c.weight", dtype="float8_e4m3fn"),
    ]
    fp8 = StateKind.FP8
    assert kinds(*entries) == [fp8, PARAMETER, fp8, PARAMETER, fp8, PARAMETER]


@pytest.mark.parametrize(
    "prefix",
    ["ema", "ema_model", "model_ema", "ema_weights", "ema_state_dict", "ema.shadow_params", "state_dict.model_ema"],
)
def test_averages_of_parameters_are_no_parameters(prefix):
    """An exponential average is a second copy that no step trains, of a parameter that has its name."""
    average = tensor(f"{prefix}.a.weight", *prefix.split("."), "a.weight")
    expected = [Named(StateKind.EMA, "model.a.weight"), Named(PARAMETER, "model.a.weight")]
    assert classify([average, tensor("model.a.weight", "model", "a.weight")]) == expected
    assert kinds(thing(f"{prefix}.decay", *prefix.split("."), "decay")) == [StateKind.EMA]


def test_a_trained_parameter_may_be_called_like_an_average():
    """With a state of the optimizer it is a parameter; with the word in a later part of a name too."""
    states = [tensor("optim.state.ema.weight.exp_avg", "optim", "state", "ema.weight", "exp_avg")]
    assert kinds(tensor("ema.weight", "ema.weight"), *states)[0] is PARAMETER
    assert kinds(tensor("model.vq.ema_w", "model", "vq.ema_w")) == [PARAMETER]
    assert kinds(tensor("schema.weight", "schema.weight")) == [PARAMETER]


@pytest.mark.parametrize(
    ("key", "rank"),
    [
        ("rng_0", 0), ("rng_rank_3", 3), ("rank_2_rng", 2), ("rng_state_rank12", 12), ("torch_rng", None),
        ("cuda_rng_state_1", None), ("rng.cpu", None), ("rank_1.rng", 1), ("random_state", None), ("rng_state", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("paths", [True, False])
def test_random_number_states_by_common_names(key, rank, paths):
    """Tensors of bytes and objects alike, with the rank that the name holds; a GPU's number is no rank."""
    weights = [tensor("model.a.weight", "model", "a.weight"), tensor("optim.state.a.weight.exp_avg")]
    path = (key,) if paths else ()
    found = one(tensor(key, *path, dtype="uint8", shape=(5_056,)), *weights)
    assert found == Named(StateKind.RANDOM, None, rank)
    assert one(tensor(f"{key}.torch", *path, *(["torch"] if paths else []), dtype="uint8", shape=(16,))) == found
    assert one(thing(key, *path), *weights) == found


@pytest.mark.parametrize(("length", "kind"), [(5_056, StateKind.RANDOM), (16, StateKind.RANDOM), (64, PARAMETER)])
def test_vectors_of_bytes_of_a_generators_length(length, kind):
    """Generators of the CPU have 5,056 bytes in torch and those of a GPU 16: neither a parameter nor a buffer."""
    weights = tensor("model.a.weight", "model", "a.weight")
    assert one(tensor("cpu", "cpu", dtype="uint8", shape=(length,)), weights).kind is kind
    assert one(tensor("cpu", "cpu", dtype="float32", shape=(length,)), weights).kind is PARAMETER


def test_words_of_generators_in_the_name_of_a_parameter():
    """Floating numbers are no state of a generator, whatever the module is called."""
    assert kinds(tensor("model.rng.proj", "model", "rng.proj"), tensor("rng.weight"), tensor("strng.w")) == [
        PARAMETER, PARAMETER, PARAMETER,
    ]  # fmt: skip
    assert kinds(tensor("random_projection.w", "random_projection.w", dtype="int64")) == [PARAMETER]


@pytest.mark.parametrize(
    ("key", "rank"),
    [
        ("dataloader_0", 0), ("dataloader_rank0", 0), ("dl_state_rank_1", 1), ("dataset_state", None), ("loader", None),
        ("train_dataloader_rank_4", 4), ("val_dataloader", None), ("sampler", None), ("dp_rank_3_dataloader", 3),
    ],
)  # fmt: skip
def test_data_positions_by_common_names(key, rank):
    """With the rank that the name holds."""
    assert one(thing(f"{key}.pos", key, "pos")) == Named(StateKind.DATA_POSITION, None, rank)


@pytest.mark.parametrize("key", ["num_updates", "step_num", "tokens", "train_step", "consumed_tokens", "batches_seen"])
def test_progress_by_common_names(key):
    """Numbers of steps, updates, tokens and batches; a parameter may have such a name."""
    assert kinds(thing(key, key), tensor(key, key, dtype="int64", shape=())) == [StateKind.PROGRESS] * 2
    assert kinds(tensor(key, key, shape=(8, 4))) == [PARAMETER]
    assert (
        kinds(tensor(f"{key}.weight", f"{key}.weight"), tensor(f"{key}.n", f"{key}.n", dtype="int64"))[0] is PARAMETER
    )


def test_words_in_the_configuration_of_a_run_are_no_states():
    """`args.dataset` and `config.seed` say how the run was started, not where it is."""
    assert kinds(thing("args.dataset", "args", "dataset"), thing("config.rng.seed", "config", "rng", "seed")) == [
        StateKind.OTHER, StateKind.OTHER,
    ]  # fmt: skip


def test_whole_numbers_of_a_flat_state_dict_are_progress_and_counters_of_a_module_are_buffers():
    """`train_state.step` as one element; `data.bn.num_batches_tracked` stands beside weights of the same module."""
    weights = [tensor(f"data.bn.{leaf}", f"data.bn.{leaf}") for leaf in ("weight", "bias")]
    counter = tensor("data.bn.num_batches_tracked", "data.bn.num_batches_tracked", dtype="int64", shape=())
    step = tensor("train_state.step", "train_state.step", dtype="int64", shape=())
    assert kinds(step, counter, *weights) == [StateKind.PROGRESS, StateKind.BUFFER, PARAMETER, PARAMETER]


def test_states_of_parameters_that_were_not_saved():
    """An optimizer alone: kinds by the slot at the end most states have theirs; the parameter is unknown."""
    slots = ("exp_avg", "exp_avg_sq", "step")
    for spell in ("optim.state.{name}.{slot}", "optim.state.{slot}.{name}"):
        entries = [tensor(spell.format(name=n, slot=s)) for n in ("a.weight", "exp_avg.bias") for s in slots]
        assert classify(entries) == [Named(SLOTS[slot]) for _ in range(2) for slot in slots]


def test_names_of_one_file_are_not_mixed_with_those_of_another():
    """Every rank has a file with the same names: its states are of its own parameters."""
    entries = []
    for rank in range(2):
        entries.append(tensor(f"rank_{rank}.pt:model.w", "model", "w"))
        entries.append(tensor(f"rank_{rank}.pt:optim.state.w.exp_avg", "optim", "state", "w", "exp_avg"))
    assert [named.parameter for named in classify(entries)] == ["rank_0.pt:model.w"] * 2 + ["rank_1.pt:model.w"] * 2


@pytest.mark.parametrize(
    "key", ["", ".", "..", "state", "param_groups", "optim", "model", "/shard_0_1", ":", "\0", "a:"]
)
def test_odd_names_are_something(key):
    """No name is refused: a tensor is a parameter or some state, an object at least other."""
    for entry in (tensor(key), thing(key), tensor(key, key), tensor(key, key, key, 0)):
        assert one(entry).kind in StateKind


@pytest.mark.parametrize("child", ["ema", "shadow_params", "averaged_model"])
def test_a_module_of_the_model_may_be_called_like_an_average(child):
    """Within the model it is an average only where it stands beside what it would be the average of."""
    inner = tensor(f"model.{child}.weight", "model", f"{child}.weight")
    assert kinds(inner, tensor("model.0.weight", "model", "0.weight")) == [PARAMETER, PARAMETER]
    assert kinds(inner, tensor("model.weight", "model", "weight")) == [StateKind.EMA, PARAMETER]


def test_groups_tell_the_parameters_of_an_optimizer_without_states():
    """Plain SGD keeps nothing: what its flattened groups do not name, and is called like no weight, is a buffer."""
    entries = [
        tensor("model.a.weight", "model", "a.weight"),
        tensor("model.freqs", "model", "freqs"),
        thing("optim.param_groups.a.weight.lr", "optim", "param_groups", "a.weight", "lr"),
    ]
    assert kinds(*entries) == [PARAMETER, StateKind.BUFFER, StateKind.HYPERPARAMETERS]
    assert kinds(*entries[:2]) == [PARAMETER, PARAMETER]  # nothing tells
