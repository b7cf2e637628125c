"""The optional SHA-256 digest in a program."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.cli.main import main
from rushlight.exir import ExecutorchBackendConfig
from rushlight.format.errors import EncodeError
from rushlight.format.pte import DIGEST_KEY, NamedDataEntry, read_pte, write_pte
from rushlight.runtime.errors import InvalidProgramError

MODEL, INPUTS = torch.nn.Linear(4, 2), (torch.ones(1, 4),)


@pytest.fixture(scope="module")
def signed() -> bytes:
    return rushlight.compile(MODEL, INPUTS, digest=True).buffer


def test_the_digest_covers_all_bytes_before_it(signed: bytes) -> None:
    assert hashlib.sha256(signed[:-32]).digest() == signed[-32:]


def test_a_program_with_its_digest_runs(signed: bytes) -> None:
    with torch.no_grad():
        expected = MODEL(*INPUTS)
    torch.testing.assert_close(rushlight.load(signed, verify_digest=True)(*INPUTS), expected)
    torch.testing.assert_close(rushlight.load(signed)(*INPUTS), expected)


@pytest.mark.damage
def test_a_changed_byte_is_refused(signed: bytes, tmp_path: Path) -> None:
    refused = 0
    for at in range(0, len(signed), 37):
        changed = signed[:at] + bytes([signed[at] ^ 1]) + signed[at + 1 :]
        with pytest.raises(InvalidProgramError):
            rushlight.load(changed, verify_digest=True)
        refused += 1
    assert refused > 20
    weights = bytearray(signed)
    weights[signed.index(MODEL.weight.detach().numpy().tobytes()[:4])] ^= 1
    path = tmp_path / "changed.pte"
    path.write_bytes(weights)
    rushlight.load(path)
    with pytest.raises(InvalidProgramError, match="the file was changed after it was written"):
        rushlight.load(path, verify_digest=True)


def test_a_program_without_a_digest_is_refused_where_one_is_asked_for() -> None:
    with pytest.raises(InvalidProgramError, match=r"contains no digest; compile it with digest=True"):
        rushlight.load(rushlight.compile(MODEL, INPUTS), verify_digest=True)


@pytest.mark.damage
def test_bytes_behind_the_digest_are_refused(signed: bytes) -> None:
    with pytest.raises(InvalidProgramError):
        rushlight.load(signed + b"\0" * 16, verify_digest=True)


def test_a_file_is_read_and_written_again(signed: bytes) -> None:
    file = read_pte(signed)
    assert file.digest and DIGEST_KEY not in file.named_data
    again = write_pte(file)
    assert hashlib.sha256(again[:-32]).digest() == again[-32:]
    file.digest = False
    assert DIGEST_KEY.encode() not in write_pte(file)


def test_the_name_of_the_digest_is_reserved() -> None:
    file = read_pte(rushlight.compile(MODEL, INPUTS).buffer)
    file.named_data[DIGEST_KEY] = NamedDataEntry(b"x")
    with pytest.raises(EncodeError, match=r"set PTEFile\.digest instead"):
        write_pte(file)


def test_the_configuration_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = ExecutorchBackendConfig(digest=True)
    program = rushlight.compile(MODEL, INPUTS, partitioner=(), backend_config=config)
    rushlight.load(program, verify_digest=True)
    source = tmp_path / "model.py"
    source.write_text(
        "import torch\n\n\ndef factory():\n    return torch.nn.Linear(4, 2), (torch.ones(1, 4),)\n"
    )
    path = tmp_path / "net.pte"
    main(["compile", f"{source}:factory", "-o", str(path), "--digest"])
    rushlight.load(path, verify_digest=True)
    capsys.readouterr()
    main(["info", str(path)])
    assert "digest: SHA-256 of the file" in capsys.readouterr().out
