"""Passes over whole programs run between checks of the program."""

from __future__ import annotations

import pytest
import torch
from tests.passes.support import edge_of
from torch.export import ExportedProgram

from rushlight.ir.errors import PassError
from rushlight.passes.program_pass import (
    ExportedProgramPassBase,
    ExportedProgramPassResult,
)
from rushlight.passes.runner import run_passes


class Traced(ExportedProgramPassBase):
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def requires(self, exported_program: ExportedProgram) -> None:
        self.log.append("requires")

    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        self.log.append("call")
        return ExportedProgramPassResult(exported_program, False)

    def ensures(self, exported_program: ExportedProgram) -> None:
        self.log.append("ensures")


class Careless(ExportedProgramPassBase):
    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        return exported_program  # type: ignore[return-value]


def test_a_pass_runs_between_its_checks() -> None:
    program, log = edge_of(torch.nn.ReLU(), torch.ones(2)), list[str]()
    assert run_passes(program, [Traced(log), Traced(log)]).exported_program is program
    assert log == ["requires", "call", "ensures"] * 2


def test_another_result_is_refused_with_the_name_of_the_pass() -> None:
    with pytest.raises(PassError, match="Careless.call returned"):
        Careless()(edge_of(torch.nn.ReLU(), torch.ones(2)))
