"""The instruction set for which plans of the CPU backend are made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.backends.cpu.target import TARGETS, host_target


@pytest.mark.parametrize(
    ("isa", "target"),
    [
        ("generic", "generic"),
        ("avx2", "avx2"),
        ("avx512amx", "avx512"),
        ("avxvnni", "avx2"),
        ("neon_i8mm", "neon"),
        ("rvv256", "rvv256"),
    ],
)
def test_plans_are_for_the_instruction_set_that_tiles_are_asked_for(
    isa: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUSHLIGHT_ISA", isa)
    assert host_target() is TARGETS[target]


def test_plans_are_for_this_machine_if_no_such_set_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUSHLIGHT_ISA", raising=False)
    own = host_target()
    monkeypatch.setenv("RUSHLIGHT_ISA", "altivec")
    with pytest.warns(
        UserWarning, match="RUSHLIGHT_ISA=altivec names no instruction set.*avx2.*neon_dotprod"
    ):
        assert host_target() is own


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("linear") / "linear.pte"
    path.write_bytes(rushlight.compile(torch.nn.Linear(8, 8), (torch.ones(2, 8),)).buffer)
    return path


RUN = """
import sys
import numpy as np
from rushlight.runtime import Runtime
Runtime.get().load_program(sys.argv[1]).load_method("forward").execute([np.ones((2, 8), np.float32)])
"""


@pytest.mark.parametrize(
    ("isa", "warns"), [("foo", True), ("AVX2", True), ("avx2", False), ("neon", False), ("", False)]
)
def test_the_runtime_warns_of_names_that_no_machine_has(isa: str, warns: bool, program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, str(program)],
        env={**os.environ, "RUSHLIGHT_ISA": isa},
        capture_output=True,
        text=True,
        check=True,
    )
    message = f"RUSHLIGHT_ISA={isa} names no instruction set and has no effect; the names are generic, avx2,"
    assert done.stderr.count(message) == int(warns)
