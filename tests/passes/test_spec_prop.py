"""Every node gets the specs of its results."""

from __future__ import annotations

from typing import Any

import torch
from tests.passes.support import edge_of

import rushlight
from rushlight.compiler.edge import to_edge
from rushlight.ir import memory_ops, meta
from rushlight.ir.spec import TensorSpec
from rushlight.passes.runner import run_passes
from rushlight.passes.spec_prop import AllocationSpecPropPass, MarkConstantsPass, SpecPropPass
from rushlight.passes.to_out_var import ToOutVarPass


def test_specs(export_case: Any) -> None:
    program = to_edge(export_case("max_dim")).exported_program()
    program = run_passes(program, [SpecPropPass()]).exported_program
    for node in program.graph.nodes:
        val = node.meta.get("val")
        if isinstance(val, torch.Tensor):
            spec = meta.get_spec(node)
            assert isinstance(spec, TensorSpec) and list(spec.shape) == list(val.shape)
            assert spec.dtype == val.dtype
    values = next(node for node in program.graph.nodes if node.name == "aten_max_dim")
    item = next(node for node in program.graph.nodes if node.name == "getitem")
    assert meta.get_spec(item) is meta.get_spec(values)[0]


def test_parameters_are_marked_as_constants() -> None:
    program = edge_of(torch.nn.Linear(3, 2), torch.ones(1, 3))
    program = run_passes(program, [SpecPropPass(), MarkConstantsPass()]).exported_program
    marked = [node.name for node in program.graph.nodes if any(s.const for s in meta.tensor_specs(node))]
    assert marked == ["p_weight", "p_bias"]


def test_layouts_that_no_kernel_knows_become_row_major() -> None:
    x = torch.empty_strided((2, 3, 4), (1, 2, 6))
    program = edge_of(torch.nn.ReLU(), x)
    program = run_passes(program, [SpecPropPass()]).exported_program
    for node in program.graph.nodes:
        for spec in meta.tensor_specs(node):
            assert tuple(spec.dim_order) == (0, 1, 2) and tuple(spec.stride) == (12, 4, 1)


def test_a_copy_in_a_dim_order_has_this_order_though_dims_of_size_1_have_several() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cos(torch.nn.functional.pixel_shuffle(x, 2))

    x = torch.randn(2, 4, 8, 2).to(memory_format=torch.channels_last)
    module = rushlight.load(rushlight.compile(Model(), (x,), partitioner=()).buffer)
    torch.testing.assert_close(module(x), Model()(x))


def test_allocations_without_specs_get_those_of_their_operators() -> None:
    program = run_passes(
        edge_of(torch.nn.ReLU(), torch.ones(2)), [SpecPropPass(), ToOutVarPass()]
    ).exported_program
    (alloc,) = [node for node in program.graph.nodes if node.target is memory_ops.alloc]
    del alloc.meta["spec"]
    (given,) = run_passes(program, [AllocationSpecPropPass()]).exported_program.graph.find_nodes(
        op="call_function", target=memory_ops.alloc
    )
    (user,) = given.users
    assert meta.get_spec(given) is meta.get_spec(user)
