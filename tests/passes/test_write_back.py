"""New contents of buffers are copied back at the end of the graph."""

from __future__ import annotations

from typing import Any

import torch
from tests.passes.support import edge_of

from rushlight.compile.edge import to_edge
from rushlight.delegate.program_copy import copy_program
from rushlight.passes.write_back import WriteBackMutations


def test_write_back(export_case: Any) -> None:
    program = copy_program(to_edge(export_case("kv_cache")).exported_program())
    result = WriteBackMutations()(program)
    assert result.modified
    program = result.exported_program
    copy = program.graph.output_node().args[0][0]
    assert copy.target is torch.ops.aten.copy_.default
    assert copy.args[0].name == "b_cache" and copy.args[1].name == "aten_index_put_default"
    assert program.graph_signature.output_specs[0].arg.name == copy.name


def test_programs_without_state_stay() -> None:
    assert not WriteBackMutations()(edge_of(torch.nn.ReLU(), torch.ones(2))).modified
