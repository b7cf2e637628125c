"""The peer: a process in the environment with ExecuTorch. `make interop` creates the environment."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.cases import Ask

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-interop" / "bin" / "python"


@pytest.fixture(scope="session")
def interop_python() -> Path:
    if not PYTHON.exists():
        pytest.skip("no environment with executorch: run `make interop`")
    return PYTHON


@pytest.fixture(scope="session")
def peer(interop_python: Path) -> Iterator[Ask]:
    """ask(request) sends one request to peer.py. An error there fails the test."""
    process = subprocess.Popen(
        [str(interop_python), "-m", "tests.interop.peer"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )

    def ask(request: dict[str, str]) -> None:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process of the other runtime ended"}
        assert answer.get("ok"), answer.get("error")

    yield ask
    process.communicate()
