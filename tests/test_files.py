"""Output files are written completely or not at all."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rushlight.files import replacing, write_file
from rushlight.format.segments import write_pieces

pytestmark = pytest.mark.usefixtures("ctrl_c")


def interrupt(_: object = None) -> None:
    """Sends SIGINT to this process, as Ctrl-C does."""
    signal.raise_signal(signal.SIGINT)


def pieces() -> Iterator[bytes]:
    yield b"first"
    interrupt()
    yield b"second"


@pytest.mark.parametrize("old", [None, b"the old file"])
def test_ctrl_c_while_a_file_is_written(tmp_path: Path, old: bytes | None) -> None:
    target = tmp_path / "model.pte"
    if old is not None:
        target.write_bytes(old)
    with pytest.raises(KeyboardInterrupt):
        write_pieces(pieces(), target)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == (
        [] if old is None else [("model.pte", old)]
    )
    write_file(target, "é")
    assert target.read_bytes() == "é".encode() and list(tmp_path.iterdir()) == [target]


def test_an_error_in_the_block(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no number"), replacing(tmp_path / "a") as file:
        file.write(b"first")
        raise ValueError("no number")
    assert not list(tmp_path.iterdir())


def test_links_and_devices(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_file(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    if Path("/dev/full").exists():
        with pytest.raises(OSError, match="No space left"):
            write_file("/dev/full", b"x" * 100_000)


def test_a_missing_folder_is_named_by_the_path_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "model.pte"
    with pytest.raises(FileNotFoundError) as raised:
        write_file(path, b"")
    assert raised.value.filename == str(path)
