"""Records that an extraction reads are held against their checksums, where there are any."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.formats.dcp.items import check_crc
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.manifest import Manifest
from ckptplan.checkpoint.reshard.extract import Extracted, chosen, extract
from ckptplan.checkpoint.writing.single import SafetensorsWriter
from ckptplan.errors import InputError
from tests.checkpoint.archives import torch_zip
from tests.checkpoint.archives.torch_zip import Storage, saved, tensor
from tests.checkpoint.shared_fixtures import OWN

STORED = {"0": np.arange(6, dtype=np.float32).tobytes(), "1": np.ones(5, dtype=np.float32).tobytes()}
VALUE = {"a": tensor(Storage("float32", "0", 6), (3, 2), (1, 3)), "b": tensor(Storage("float32", "1", 5), (5,), (1,))}


def extracted(manifest: Manifest, out: Path, *keys: str) -> Extracted:
    """The tensors of some keys, or the model."""
    return extract(manifest, out, chosen(manifest, keys))


def flip(path: Path, at: int) -> None:
    """One bit of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_a_flipped_bit_in_an_item_of_dcp_is_an_error_that_names_the_tensor(tmp_path: Path) -> None:
    """Nothing is written; tensors of other items are."""
    folder = tmp_path / "step"
    shutil.copytree(OWN / "dcp-3rank", folder)
    manifest = read_manifest(folder)
    weight = next(tensor for tensor in manifest.tensors if tensor.key == "model.0.weight")
    raw = manifest.source.raw(weight, 0)
    assert extracted(manifest, tmp_path / "good.safetensors").compared == 3
    flip(folder / manifest.files[raw.file].name, raw.offset)
    damaged = read_manifest(folder)
    with pytest.raises(InputError, match="is not what its CRC-32 says") as caught:
        extracted(damaged, tmp_path / "bad.safetensors")
    (problem,) = caught.value.problems
    assert problem.key == "model.0.weight"
    assert problem.place is not None
    assert problem.place.file == str(folder / manifest.files[raw.file].name)
    extracted(damaged, tmp_path / "other.safetensors", "model.2.*")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.safetensors", "other.safetensors", "step"]


def test_a_flipped_bit_in_a_file_of_torch_save_is_an_error(tmp_path: Path) -> None:
    """The record of a tensor that is chosen; one that is not read is not held against its checksum."""
    path = tmp_path / "model.pt"
    path.write_bytes(saved(VALUE, STORED))
    flip(path, path.read_bytes().index(STORED["0"]) + 5)
    with pytest.raises(InputError, match=r"the record archive/data/0 at byte .* is not what its CRC-32 says"):
        extracted(read_manifest(path), tmp_path / "out.safetensors")
    done = extracted(read_manifest(path), tmp_path / "out.safetensors", "b")
    assert (done.compared, done.without_checksums) == (1, ())


def test_archives_that_were_written_without_checksums_are_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros in all records are what torch.serialization.set_crc32_options(False) leaves: no checksums."""
    monkeypatch.setattr(torch_zip, "zlib", _NoCrc)
    path = tmp_path / "model.pt"
    path.write_bytes(saved(VALUE, STORED))
    done = extracted(read_manifest(path), tmp_path / "out.safetensors")
    assert (done.compared, done.without_checksums) == (0, (".pt",))
    assert check_crc(read_manifest(path)) == ()


def test_what_has_no_checksums_is_noted(tmp_path: Path) -> None:
    """A safetensors file."""
    path = tmp_path / "model.safetensors"
    with SafetensorsWriter(path, [("a", "float32", (2,))]) as writer:
        writer.write("a", 0, bytes(8))
        writer.finish()
    done = extracted(read_manifest(path), tmp_path / "out.safetensors")
    assert (done.compared, done.without_checksums) == (0, (".safetensors",))


class _NoCrc:
    """What the writer of archives uses of zlib, with no checksum."""

    compressobj: Any = staticmethod(zlib.compressobj)

    @staticmethod
    def crc32(_: bytes) -> int:
        """As torch writes it when it is told to compute none."""
        return 0
