"""Edge programs after `install_as_executorch()`: debug handles of planned programs, and memory formats."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.fresh import run_python

from rushlight.ir.edge_ops import ops
from rushlight.memory.planning_pass import MemoryPlanningPass

SCRIPT = """
import rushlight.compat
rushlight.compat.install_as_executorch()

import torch
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.error import InternalError

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) * 2

class Format(torch.nn.Module):
    def forward(self, x):
        return x.to(dtype=torch.float32, memory_format=torch.channels_last)

program = to_edge(torch.export.export(Model(), (torch.ones(2),))).to_executorch()
plan = program.executorch_program.execution_plan[0]
names = [plan.operators[i.instr_args.op_index].name for i in plan.chains[0].instructions]
handles = {
    node.meta["debug_handle"]: str(node.target)
    for node in program.exported_program().graph.nodes
    if node.target in (torch.ops.aten.sin.out, torch.ops.aten.mul.out)
}
assert {index: name.split("::")[1] for index, name in enumerate(names) if index in handles} == {
    index: target.split(".")[1] for index, target in handles.items()
}, (names, handles)
assert len(handles) == 2

import copy, io
from executorch.devtools import generate_etrecord, parse_etrecord
edge = to_edge(torch.export.export(Model(), (torch.ones(2),)))
before = copy.deepcopy(edge)
program = edge.to_executorch()
for manager in (edge, before):
    file = io.BytesIO()
    generate_etrecord(file, manager, program)
    recorded = parse_etrecord(io.BytesIO(file.getvalue())).edge_dialect_program
    graph = getattr(recorded, "graph_module", recorded).graph
    want = [node.target for node in manager.exported_program().graph.nodes]
    assert [node.target for node in graph.nodes] == want
assert len(before.exported_program().graph.nodes) < len(edge.exported_program().graph.nodes)

for keep, refused in ((True, True), (False, False)):
    config = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=keep)
    edge = to_edge(torch.export.export(Format(), (torch.ones(1, 2, 2, 2),)), compile_config=config)
    try:
        edge.to_executorch()
        found = False
    except InternalError as error:
        assert "channels_last" in str(error), error
        found = True
    assert found == refused
"""


def test_planned_programs_are_as_executorch_leaves_them(tmp_path: Path) -> None:
    done = run_python(SCRIPT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_operators_of_backends_need_a_kernel() -> None:
    library = torch.library.Library("DO_NOT_USE_TEST_ONLY", "FRAGMENT")
    library.define("without_kernel(Tensor a) -> Tensor")
    library.define("with_meta(Tensor a) -> Tensor")
    library.impl("with_meta", torch.empty_like, "Meta")
    found = ops.backend.DO_NOT_USE_TEST_ONLY
    with pytest.raises(AssertionError, match="without_kernel has no kernel"):
        _ = found.without_kernel.default
    assert found.with_meta.default.namespace == "DO_NOT_USE_TEST_ONLY"


def test_allocations_of_a_users_pass_get_the_spec_of_the_result() -> None:
    from rushlight.ir import memory_ops, meta
    from rushlight.ir.spec import TensorSpec

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    alloc = graph.call_function(memory_ops.alloc, (((2,), torch.float32),))
    relu = graph.call_function(torch.ops.aten.relu.out, (x,), {"out": alloc})
    spec = TensorSpec(torch.float32, [2])
    meta.set_spec(relu, spec)
    graph.output((relu,))
    MemoryPlanningPass()._set_alloc_node_spec(torch.fx.GraphModule({}, graph))
    assert meta.get_spec(alloc) is spec


STATE = """
import rushlight.compat
rushlight.compat.install_as_executorch()

import torch
from executorch.exir import to_edge
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data, tag_mutated_buffer

class Demo(BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        return PreprocessResult(b"demo")

class Whole(Partitioner):
    def partition(self, program):
        for node in program.graph.nodes:
            if node.op == "call_function":
                node.meta["delegation_tag"] = "tag0"
        tag_constant_data(program)
        tag_mutated_buffer(program)
        return PartitionResult(program, {"tag0": DelegationSpec("Demo", [])})

class Counter(torch.nn.Module):
    def __init__(self, returns):
        super().__init__()
        self.returns = returns
        self.register_buffer("state", torch.zeros(2))

    def forward(self, x):
        new = self.state.add_(x)
        return new if self.returns else new * 2

for returns in (True, False):
    edge = to_edge(torch.export.export(Counter(returns), (torch.ones(2),)))
    try:
        edge.to_backend(Whole())
        found = False
    except AssertionError as error:
        assert "buffer state is tagged tag0" in str(error), error
        found = True
    assert found == returns, returns
"""


def test_a_delegate_does_not_own_state_that_is_an_output(tmp_path: Path) -> None:
    done = run_python(STATE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
