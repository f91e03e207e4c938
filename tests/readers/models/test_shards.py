"""Safetensors files, indices and folders: every tensor once, in its place, inside the folder."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from ckptplan.errors import InputError
from ckptplan.readers.models.shards import read_shards
from tests.checkpoint.formats.test_safetensors_header import save

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two shards and their index."""
    inside = tmp_path / "checkpoint"
    inside.mkdir()
    save(inside / FIRST, {"a": ("BF16", (4, 4)), "b": ("F32", (3,))})
    save(inside / SECOND, {"c": ("BF16", (8, 2))})
    index(inside, {"a": FIRST, "b": FIRST, "c": SECOND}, total_size=76)
    return inside


def index(folder: Path, where: object, **metadata: object) -> Path:
    """The index of a folder."""
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": metadata, "weight_map": where}), encoding="utf-8")
    return path


def refusal(path: Path) -> tuple[str, ...]:
    """The messages of a refusal, each with a file and a hint."""
    with pytest.raises(InputError) as caught:
        read_shards(path)
    assert all(p.place is not None and p.hint for p in caught.value.problems if not p.message.startswith("and "))
    return tuple(p.message for p in caught.value.problems)


def test_index_folder_and_set_give_the_same_tensors(folder: Path) -> None:
    """By its index, by the folder with an index, and by the numbers of its files a checkpoint is the same."""
    found = [read_shards(folder / "model.safetensors.index.json"), read_shards(folder)]
    (folder / "model.safetensors.index.json").unlink()
    found.append(read_shards(folder))
    assert all([(t.name, t.shape) for t in one.tensors] == [("a", (4, 4)), ("b", (3,)), ("c", (8, 2))] for one in found)
    assert all(one.remarks == () and len(one.files) == 2 and one.folder == folder for one in found)


def test_one_file_is_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    """A file by its name, and a folder with one file; a set of one is whole."""
    save(tmp_path / "alone.safetensors", {"w": ("F16", (5,))})
    assert [t.name for t in read_shards(tmp_path).tensors] == ["w"]
    assert [t.name for t in read_shards(tmp_path / "alone.safetensors").tensors] == ["w"]
    save(folder / "model-00001-of-00001.safetensors", {"w": ("F16", (5,))})
    assert [t.name for t in read_shards(folder / "model-00001-of-00001.safetensors").tensors] == ["w"]


def test_a_file_of_a_set_is_no_checkpoint(folder: Path, tmp_path: Path) -> None:
    """One of two files, by its name or alone in a folder, is refused with what is missing."""
    assert refusal(folder / SECOND) == ("file 2 of a set of 2: a part of a model",)
    (tmp_path / "half").mkdir()
    save(tmp_path / "half" / FIRST, {"a": ("BF16", (4, 4))})
    assert refusal(tmp_path / "half") == ("1 of 2 files are missing: 2",)


def test_folders_in_place_of_files_are_refused(folder: Path, tmp_path: Path) -> None:
    """A folder with the name of a file, and an index whose files are folders."""
    (tmp_path / "odd" / "model.safetensors").mkdir(parents=True)
    assert refusal(tmp_path / "odd") == ("is a folder, not a file",)
    for name in ("", ".", "inner"):
        (folder / "inner").mkdir(exist_ok=True)
        assert refusal(index(folder, {"a": name})) == (f"the index names {name!r}, which is a folder",)
    (folder / "model.safetensors.index.json").unlink()
    (folder / "model.safetensors.index.json").mkdir()
    assert refusal(folder) == ("is a folder, not a file",)


def test_names_too_long_for_a_file_are_refused(folder: Path) -> None:
    """What no folder can hold is missing."""
    assert refusal(index(folder, {"a": "x" * 5_000}))[0].endswith("which is missing")


def test_a_disk_that_fails_is_an_error_of_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says while the header is read is said with the file."""

    def broken(_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("ckptplan.checkpoint.formats.safetensors_header._header_bytes", lambda *_: broken(_))
    (folder / "model.safetensors.index.json").unlink()
    assert refusal(folder) == ("cannot be read: Input/output error",)


def test_a_total_size_that_is_wrong_is_remarked(folder: Path) -> None:
    """The index says another size than the files have: a sentence with both."""
    index(folder, {"a": FIRST, "b": FIRST, "c": SECOND}, total_size=1_000)
    assert read_shards(folder).remarks == ("the index gives a total_size of 1,000 bytes, but the files hold 76",)
    index(folder, {"a": FIRST, "b": FIRST, "c": SECOND}, total_size="many")
    assert "'many'" in read_shards(folder).remarks[0]


def test_tensors_that_the_index_leaves_out_are_remarked(folder: Path) -> None:
    """What stands in the files alone is not counted, and said."""
    index(folder, {"a": FIRST, "c": SECOND})
    found = read_shards(folder)
    assert [t.name for t in found.tensors] == ["a", "c"]
    assert found.remarks == ("tensors of the files that are not in the index: 1, first 'b'",)


def test_missing_shards_are_listed(folder: Path) -> None:
    """Each missing file by name; in a set without an index by number."""
    (folder / FIRST).unlink()
    (folder / SECOND).unlink()
    assert refusal(folder) == (
        f"the index names {FIRST!r}, which is missing",
        f"the index names {SECOND!r}, which is missing",
    )
    (folder / "model.safetensors.index.json").unlink()
    save(folder / "model-00002-of-00004.safetensors", {"a": ("F32", (1,))})
    save(folder / "model-00004-of-00004.safetensors", {"b": ("F32", (1,))})
    assert refusal(folder) == ("2 of 4 files are missing: 1, 3",)


def test_tensors_in_other_places_are_refused(folder: Path) -> None:
    """A tensor that its file does not have."""
    index(folder, {"a": SECOND, "b": FIRST, "c": SECOND, "d": FIRST})
    assert refusal(folder) == (f"the tensor 'a' is not in {SECOND!r}", f"the tensor 'd' is not in {FIRST!r}")


@pytest.mark.parametrize("name", ["../out.safetensors", "/etc/passwd", "link.safetensors", "loop.safetensors", "a\0b"])
def test_files_elsewhere_are_refused(folder: Path, name: str) -> None:
    """Names that lead out of the folder, by dots, from the root or through a link, are not opened."""
    save(folder.parent / "out.safetensors", {"a": ("F32", (1,))})
    (folder / "link.safetensors").symlink_to(folder.parent / "out.safetensors")
    (folder / "loop.safetensors").symlink_to("loop.safetensors")
    path = index(folder, {"a": name})
    assert refusal(path) == (f"the index names {name!a}, which is not in its folder",)


def test_links_of_a_folder_that_lead_out_are_refused(folder: Path, tmp_path: Path) -> None:
    """A folder whose one file is a link to elsewhere."""
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "model.safetensors").symlink_to(folder / FIRST)
    assert refusal(tmp_path / "links") == ("'model.safetensors' is a link that leads out of the folder",)
    with pytest.raises(InputError) as caught:
        read_shards(tmp_path / "links")
    assert "write config: ./config.json" in (caught.value.problems[0].hint or "")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no safetensors file and no index"),
        (["config.json"], "no safetensors file and no index"),
        (["pytorch_model.bin"], "pickled"),
        ([".metadata", "__0_0.distcp"], "torch.distributed.checkpoint"),
        (["a.safetensors", "b.safetensors"], "2 safetensors files and no index"),
        (["a.safetensors.index.json", "b.safetensors.index.json"], "2 indices"),
    ],
)
def test_folders_without_a_clear_checkpoint_are_refused(tmp_path: Path, names: list[str], message: str) -> None:
    """Nothing, or more than one candidate."""
    for name in names:
        save(tmp_path / name, {"a": ("F32", (1,))})
    assert message in refusal(tmp_path)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "no weight_map"),
        ('{"weight_map": {}}', "no weight_map"),
        ('{"weight_map": ["a"]}', "no weight_map"),
        ('{"weight_map": {"a": 1}}', "no weight_map"),
        ("[]", "not a group"),
        ('{"weight_map": {"a": "b", "a": "c"}}', "stands twice"),
        ("weights", "not JSON"),
    ],
)
def test_an_index_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """What does not map names to files."""
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(text, encoding="utf-8")
    assert message in refusal(path)[0]


def test_files_of_other_formats_are_refused(tmp_path: Path) -> None:
    """Pickled files are not opened, a configuration is no checkpoint, a part of a tensor is no tensor."""
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x02}q\x00.")
    assert "pickled" in refusal(tmp_path / "pytorch_model.bin")[0]
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert "neither a safetensors file" in refusal(tmp_path / "config.json")[0]
    save(tmp_path / "part.safetensors", {"a": ("F32", (1,))}, {"DCP_SHARDING_INFO": "{}"})
    assert "parts of tensors" in refusal(tmp_path / "part.safetensors")[0]


def test_a_name_in_two_files_is_refused(folder: Path) -> None:
    """The same tensor twice is counted neither once nor twice."""
    (folder / "model.safetensors.index.json").unlink()
    save(folder / SECOND, {"a": ("BF16", (4, 4))})
    assert "'a' stands in two files" in refusal(folder)[0]


def test_pipes_and_missing_files_are_refused_at_once(tmp_path: Path) -> None:
    """Nothing waits for a writer."""
    os.mkfifo(tmp_path / "model.safetensors")
    assert "pipe or device" in refusal(tmp_path / "model.safetensors")[0]
    assert "pipe or device" in refusal(tmp_path)[0]
    assert "no such file" in refusal(tmp_path / "nowhere")[0]
    assert "cannot be a file" in refusal(Path("a\0b"))[0]
