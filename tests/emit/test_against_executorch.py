"""Programs are compared with those of the released ExecuTorch, and run in its runtime."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.emit.peer import structure

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-interop" / "bin" / "python"

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="the environment .venv-interop is not there; `make interop` sets it up"
)

NAMES = [
    "add",
    "many_outputs",
    "indexed",
    "shared_weights",
    "reshaped",
    "branch",
    "nested_branch",
    "mapped",
    "scanned",
    "looped",
    "looped_int",
    "looped_dynamic",
    "counter",
    "old_state",
    "cache",
    "found",
    "passed_through",
]
# Cases whose emitted graphs are the same in both systems.
ALIKE = ["add", "many_outputs", "reshaped", "scanned"]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory, cases: Any, lowered: Any) -> Any:
    folder = tmp_path_factory.mktemp("peer")
    for name in cases:
        (folder / f"{name}.pte").write_bytes(lowered(name).buffer)
    command = [PYTHON, "-m", "tests.emit.peer", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((folder / "peer.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_our_files_run_there(name: str, peer: Any) -> None:
    assert peer[name]["failure"] is None


@pytest.mark.parametrize("name", ALIKE)
def test_programs_are_alike(name: str, peer: Any, lowered: Any) -> None:
    ours = json.loads(json.dumps(structure(lowered(name).executorch_program)))
    theirs = peer[name]["structure"]
    assert ours["calls"] == theirs["calls"]
    assert ours["inputs"] == theirs["inputs"] and ours["outputs"] == theirs["outputs"]


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_alike_and_plans_no_larger(name: str, peer: Any, lowered: Any) -> None:
    theirs = peer[name]["structure"]
    if theirs is None:
        pytest.skip(f"executorch cannot lower it: {peer[name]['unsupported']}")
    ours = structure(lowered(name).executorch_program)
    ours["container"][0][1].pop(
        "names", None
    )  # names of arguments, which ExecuTorch's programs do not contain
    assert ours["container"] == theirs["container"]
    assert sum(ours["planned"]) <= sum(theirs["planned"])
