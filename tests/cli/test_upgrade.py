"""`rushlight upgrade` shows layouts, and writes programs in the current layouts if this is possible."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.backends.cpu.plan import upgrade
from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.cli.main import main
from rushlight.format.codecs import program_binding
from rushlight.format.encode import encode
from rushlight.format.program import Buffer
from rushlight.format.pte import has_data_among_tables, read_pte, write_pte

GOLDEN = Path(__file__).parents[1] / "golden" / "programs" / "0.1.0"
PLANNED = GOLDEN / "rows-cpu-avx2.pte"
KERNELS = GOLDEN / "image-kernels.pte"


def with_layout(layout: bytes) -> bytes:
    """Returns the program with another version number of the layout in its plan."""
    file = read_pte(PLANNED.read_bytes())
    blobs = [bytes(blob) for blob in file.delegate_data]
    blobs = [
        blob[:4] + layout + blob[8:] if blob[4:8] == upgrade.CURRENT.encode() else blob for blob in blobs
    ]
    return write_pte(replace(file, delegate_data=blobs))


def results(path: Path) -> np.ndarray:
    arrays = np.load(PLANNED.with_suffix(".npz"))
    return np.asarray(rushlight.load(path)(arrays["0.input.0"]))


def test_layouts_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", str(PLANNED)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["program", "ET12,", "data", "in", "segments", "current"]
    assert lines[1].startswith("method forward, delegate 0") and lines[1].split()[-2:] == ["RCP2", "current"]
    assert main(["upgrade", str(PLANNED), "--json"]) == 0
    assert [row["state"] for row in json.loads(capsys.readouterr().out)["parts"]] == ["current", "current"]


def test_a_current_program_keeps_its_results(tmp_path: Path) -> None:
    assert main(["upgrade", str(PLANNED), "-o", str(tmp_path / "new.pte")]) == 0
    np.testing.assert_array_equal(results(tmp_path / "new.pte"), results(PLANNED))


def test_constants_among_tables_move_into_segments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = read_pte(KERNELS.read_bytes())
    assert len(file.constants) > 1 and not file.delegate_data
    program = replace(file.program, constant_buffer=[Buffer(bytes(data)) for data in file.constants])
    old = tmp_path / "old.pte"
    old.write_bytes(bytes(encode(program_binding(), program)))
    assert main(["upgrade", str(old), "-o", str(tmp_path / "new.pte")]) == 0
    assert "among the tables" in capsys.readouterr().out
    new = (tmp_path / "new.pte").read_bytes()
    assert has_data_among_tables(old.read_bytes()) and not has_data_among_tables(new)
    x = np.load(KERNELS.with_suffix(".npz"))["0.input.0"]
    np.testing.assert_array_equal(rushlight.load(old)(x), rushlight.load(tmp_path / "new.pte")(x))


def test_a_layout_without_an_upgrade_needs_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.pte"
    old.write_bytes(with_layout(b"RCP1"))
    assert main(["upgrade", str(old)]) == 0
    assert "RCP1" in (said := capsys.readouterr().out) and "compile the model again" in said
    assert main(["upgrade", str(old), "-o", str(tmp_path / "new.pte")]) == 1
    assert "method forward, delegate 0 has the layout of a CPU plan RCP1" in capsys.readouterr().err
    assert not (tmp_path / "new.pte").exists()


def test_a_layout_with_an_upgrade_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Later versions add a function to this table for each older layout."""
    monkeypatch.setitem(
        upgrade.UPGRADES, "RCP0", lambda data: read_plan(data[:4] + upgrade.CURRENT.encode() + data[8:])
    )
    old = tmp_path / "old.pte"
    old.write_bytes(with_layout(b"RCP0"))
    assert main(["upgrade", str(old), "-o", str(tmp_path / "new.pte")]) == 0
    assert "can be upgraded" in capsys.readouterr().out
    np.testing.assert_array_equal(results(tmp_path / "new.pte"), results(PLANNED))


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["-o", "new.txt"], "must end with .pte"),
        (["-o", "no/such/folder/new.pte"], "the folder no/such/folder does"),
    ],
)
def test_wrong_outputs(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", str(PLANNED), *arguments]) == 1
    assert text in capsys.readouterr().err
