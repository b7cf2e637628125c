"""Damaged files cause a FormatError or have a valid result, and never cause another exception."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from rushlight.format.errors import FormatError
from rushlight.format.ptd import read_ptd, write_ptd
from rushlight.format.pte import PTEFile, PTELayout, read_pte, write_pte
from rushlight.format.segments import NamedDataEntry
from rushlight.format.text import format_pte

WORDS = [0, 4, 0x7FFFFFFF, 0xFFFFFFFF]


def is_read(read: Callable[[bytes], Any], data: bytes) -> bool:
    """Whether the data can be read. A result must be valid, so that it can be printed and written again."""
    try:
        result = read(data)
    except FormatError as error:
        assert str(error)
        return False
    if isinstance(result, PTEFile):
        format_pte(result)
        write_pte(result)
    else:
        write_ptd(result)
    return True


@pytest.fixture
def pte(every_kind: PTEFile) -> bytes:
    return write_pte(every_kind, PTELayout(segment_alignment=16))


@pytest.fixture
def ptd(entries: dict[str, NamedDataEntry]) -> bytes:
    return write_ptd(entries, segment_alignment=16)


def test_truncated_programs(pte: bytes) -> None:
    assert is_read(read_pte, pte)
    assert not any(is_read(read_pte, pte[:size]) for size in range(len(pte)))


def test_truncated_data_files(ptd: bytes) -> None:
    assert is_read(read_ptd, ptd)
    assert not any(is_read(read_ptd, ptd[:size]) for size in range(len(ptd)))


@pytest.mark.parametrize("mask", [0x01, 0xFF])
def test_programs_with_one_byte_changed(pte: bytes, mask: int) -> None:
    counts = [0, 0]
    for at in range(len(pte)):
        counts[is_read(read_pte, pte[:at] + bytes([pte[at] ^ mask]) + pte[at + 1 :])] += 1
    # Both cases occur: wrong offsets are detected, and changed payload bytes are not.
    assert min(counts) > 100


@pytest.mark.parametrize("mask", [0x01, 0x02, 0x04, 0x08, 0x80, 0xFF])
def test_data_files_with_one_byte_changed(ptd: bytes, mask: int) -> None:
    counts = [0, 0]
    for at in range(len(ptd)):
        counts[is_read(read_ptd, ptd[:at] + bytes([ptd[at] ^ mask]) + ptd[at + 1 :])] += 1
    assert min(counts) > 50


@pytest.mark.parametrize("word", WORDS)
def test_programs_with_one_word_changed(pte: bytes, word: int) -> None:
    refused = sum(
        not is_read(read_pte, pte[:at] + word.to_bytes(4, "little") + pte[at + 4 :])
        for at in range(0, len(pte) - 4, 4)
    )
    assert refused > 50


def test_programs_with_many_bytes_changed(pte: bytes) -> None:
    generator = random.Random(0)
    refused = 0
    for _ in range(1500):
        data = bytearray(pte)
        for _ in range(generator.randint(2, 40)):
            data[generator.randrange(len(data))] = generator.choice(
                [0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)]
            )
        refused += not is_read(read_pte, bytes(data))
    assert refused > 500
