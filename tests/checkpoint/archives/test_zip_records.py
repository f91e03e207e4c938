"""Records of zip archives, honest and hostile, compared with Python's own zipfile where that can read them."""

from __future__ import annotations

import random
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import pytest

from ckptplan.checkpoint.archives.zip_records import Record, checksum_fits, read_record, read_records
from ckptplan.errors import InputError
from tests.checkpoint.archives.torch_zip import Part, archive, folder_of

PARTS = [Part("a/data.pkl", b"pickle"), Part("a/data/0", bytes(range(100))), Part("a/data/1", b""), Part("a/v", b"3\n")]


def refusal(tmp_path: Path, data: bytes) -> str:
    """The message for an archive that is refused."""
    with pytest.raises(InputError) as caught:
        read_records(folder_of(tmp_path, data), "file.pt")
    problem = caught.value.problems[0]
    assert problem.place is not None
    assert problem.place.file == str(tmp_path / "file.pt")
    assert problem.hint
    return problem.message


@pytest.mark.parametrize("zip64", [False, True])
@pytest.mark.parametrize("comment", [b"", b"a comment"])
def test_records_are_where_zipfile_finds_them(tmp_path: Path, zip64: bool, comment: bytes) -> None:
    """Names, sizes, checksums and the data itself, with and without 64-bit extensions and comments."""
    data = archive(PARTS, zip64=zip64, comment=comment)
    folder = folder_of(tmp_path, data)
    found = read_records(folder, "file.pt")
    with zipfile.ZipFile(BytesIO(data)) as reference:
        assert list(found) == reference.namelist()
        for info in reference.infolist():
            record = found[info.filename]
            assert (record.size_bytes, record.crc) == (info.file_size, info.CRC)
            assert read_record(folder, "file.pt", record, 1000) == reference.read(info)
            assert data[record.offset : record.offset + record.size_bytes] == reference.read(info)


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_of_zipfile_are_read(tmp_path: Path, kind: int) -> None:
    """Another program's archives, packed or not."""
    content = {"x/data.pkl": b"p" * 1000, "x/data/0": bytes(range(256)) * 20, "x/ü": "größer".encode()}
    with zipfile.ZipFile(tmp_path / "z.pt", "w", kind) as out:
        for name, data in content.items():
            out.writestr(name, data)
    folder = folder_of(tmp_path, b"")
    found = read_records(folder, "z.pt")
    assert {name: read_record(folder, "z.pt", record, 10_000) for name, record in found.items()} == content
    assert all(checksum_fits(folder, "z.pt", record) for record in found.values())


def test_an_archive_lies_anywhere_in_a_file(tmp_path: Path) -> None:
    """Its places count from its own beginning; what stands before and behind does not matter."""
    inner = archive(PARTS)
    folder = folder_of(tmp_path, b"\0" * 77 + inner + b"PK\5\6 something else")
    found = read_records(folder, "file.pt", 77, len(inner))
    alone = read_records(folder_of(tmp_path, inner, "alone.pt"), "alone.pt")
    assert found == {name: record._replace(offset=record.offset + 77) for name, record in alone.items()}


def test_a_comment_may_look_like_the_end_of_an_archive(tmp_path: Path) -> None:
    """The end is where its own comment reaches the end of the file, not the last place that begins like one."""
    folder = folder_of(tmp_path, archive(PARTS, comment=b"PK\5\6" + bytes(30)))
    assert list(read_records(folder, "file.pt")) == [part.name for part in PARTS]


def test_a_flipped_bit_fails_its_checksum(tmp_path: Path) -> None:
    """The archive tells that its data changed."""
    data = bytearray(archive(PARTS))
    record = read_records(folder_of(tmp_path, bytes(data)), "file.pt")["a/data/0"]
    data[record.offset + 50] ^= 4
    folder = folder_of(tmp_path, bytes(data), "flipped.pt")
    assert not checksum_fits(folder, "flipped.pt", record)
    assert checksum_fits(folder, "flipped.pt", read_records(folder, "flipped.pt")["a/v"])


def test_a_deflated_record_holds_exactly_what_it_says(tmp_path: Path) -> None:
    """A small bomb: a megabyte of zeros that says it is ten bytes, or more than it is."""
    for size in (10, 2_000_000):
        folder = folder_of(tmp_path, archive([Part("a/data.pkl", bytes(1_000_000), True, size=size)]), f"{size}.pt")
        record = read_records(folder, f"{size}.pt")["a/data.pkl"]
        with pytest.raises(InputError, match=r"holds (more|less) than the archive says"):
            read_record(folder, f"{size}.pt", record, 1 << 24)
        with pytest.raises(InputError, match=r"holds (more|less) than the archive says"):
            checksum_fits(folder, f"{size}.pt", record)


def test_a_record_larger_than_asked_is_not_read(tmp_path: Path) -> None:
    """The bound holds before anything is reserved, whatever the archive claims."""
    with pytest.raises(InputError, match="at most 1,000 are read"):
        read_record(folder_of(tmp_path, b"x"), "file.pt", Record(0, 2**60, 0, 1, True), 1000)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "end of the zip archive is missing"),
        (archive(PARTS)[:-1], "end of the zip archive is missing"),
        (archive(PARTS)[10:], "directory is not where its end says"),
        (archive([Part("a/../b", b"x")]), "names a record"),
        (archive([Part("/a", b"x")]), "names a record"),
        (archive([Part("a\\b", b"x")]), "names a record"),
        (archive([Part("a\0b", b"x")]), "names a record"),
        (archive([PARTS[0], PARTS[0]]), "stands twice"),
        (archive([Part("a/b", b"x", flags=0x0809)]), "encrypted"),
        (archive([Part("a/b", b"x", local_name="a/c")]), "not where the directory says"),
        (archive([Part("a/b", b"x", place=5)]), "not where the directory says"),
        (archive([Part("a/b", b"x", place=2**31)]), "lies over what follows"),
        (archive([Part("a/b", b"x", size=2**31, packed=2**31)]), "lies over what follows"),
        (archive([Part("a/b", b"x", size=2**62, packed=2**62)], zip64=True), "lies over what follows"),
        (archive([Part("a/b", b"x", size=5)]), "contradicts itself"),
        (archive([PARTS[0], PARTS[1]._replace(place=0)]), "lies over what follows"),
        (archive([*PARTS, Part("a/" + "n" * 100, b"")], entries=6), "ends within a record"),
        (archive(PARTS, entries=2), "longer than its records"),
        (archive(PARTS, zip64=True, entries=2**50), "a zip directory of"),
    ],
)
def test_archives_that_contradict_themselves_are_refused(tmp_path: Path, data: bytes, said: str) -> None:
    """Each contradiction is said, and nothing is read beyond the file."""
    assert said in refusal(tmp_path, data)


def test_records_do_not_share_their_data(tmp_path: Path) -> None:
    """A bomb of many records on one kernel of data (Fifield 2019) is refused as records over each other."""
    kernel = bytes(10_000)
    parts = [Part("a/0", kernel), *(Part(f"a/{n}", b"", size=10_000, packed=10_000) for n in range(1, 300))]
    assert "lies over what follows" in refusal(tmp_path, archive(parts))


def test_a_directory_of_half_a_million_claims_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """The count in the end of the archive is held against the size of the directory."""
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0)
    assert "65,535 records in 0 bytes" in refusal(tmp_path, end)


def test_places_beyond_the_file_are_refused(tmp_path: Path) -> None:
    """An item that its metadata places past the end."""
    folder = folder_of(tmp_path, archive(PARTS))
    for start, length in ((-1, 5), (0, 10**9), (10**9, 1)):
        with pytest.raises(InputError, match="of a file of"):
            read_records(folder, "file.pt", start, length)


def test_mutations_end_in_records_or_one_error(tmp_path: Path) -> None:
    """Four thousand changed archives: whatever is accepted lies within the file, whatever is not is an InputError."""
    draw = random.Random(20)  # noqa: S311 - seeded
    sources = [archive(PARTS), archive(PARTS, zip64=True), archive([Part("a/data.pkl", b"p" * 200, True)])]
    accepted = 0
    for number in range(4_000):
        data = bytearray(draw.choice(sources))
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(data))
            data[at] = draw.choice((0, 1, 0xFF, draw.randrange(256)))
        if number % 5 == 0:
            del data[draw.randrange(len(data)) :]
        folder = folder_of(tmp_path, bytes(data))
        try:
            records = read_records(folder, "file.pt")
            for record in records.values():
                assert record.offset + record.packed_bytes <= len(data)
                assert zlib.crc32(read_record(folder, "file.pt", record, 10_000)) >= 0
            accepted += 1
        except InputError:
            continue
        finally:
            folder.close()
    assert 0 < accepted < 4_000
