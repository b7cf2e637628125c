"""Tests of the pass that logs a graph."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
import torch
from torch.export import export

from rushlight.compat.debug_pass import DebugPass
from rushlight.compiler.edge import to_edge
from rushlight.passes.spec_prop import SpecPropPass


class Double(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


def module() -> torch.fx.GraphModule:
    edge = to_edge(export(Double(), (torch.ones(2),))).transform([SpecPropPass()])
    return edge.exported_program().graph_module


def test_the_log_and_the_file_have_the_graph(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "graph.txt"
    with caplog.at_level(logging.DEBUG, logger="rushlight.compat.debug_pass"):
        assert DebugPass("first line", show_src=True, log_filename=str(file)).call(module()).modified
    text = file.read_text()
    own = [record.getMessage() for record in caplog.records if record.name == "rushlight.compat.debug_pass"]
    assert own == [text.rstrip("\n")]
    assert text.startswith("first line\n")
    assert "aten_add_Tensor(x, x)" in text and "placeholder: 1" in text
    assert re.search(r" test_debug_pass.py:\d+: return x \+ x", text)


def test_specs_are_written_on_request(tmp_path: Path) -> None:
    files = tmp_path / "without", tmp_path / "with"
    DebugPass(log_filename=str(files[0]))(module())
    DebugPass(show_spec=True, log_filename=str(files[1]))(module())
    assert "TensorSpec" not in files[0].read_text()
    assert files[1].read_text().count("TensorSpec") == 3


def test_frames_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "graph.txt"
    DebugPass(show_src=True, path_filter="no such file", log_filename=str(file))(module())
    assert "return x + x" not in file.read_text()
    DebugPass(show_src=True, show_full_path=True, show_all_frames=True, log_filename=str(file))(module())
    assert re.search(rf"{re.escape(__file__)}:\d+: return x \+ x", file.read_text())


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    file = tmp_path / "graph.txt"
    assert not DebugPass(enable_debug_pass=False, log_filename=str(file)).call(module()).modified
    assert not file.exists()
