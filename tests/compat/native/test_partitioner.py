"""Which nodes the native backend takes, and the partitions that it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.compat.native.interpreter import Interpreter
from torch import nn
from torch.export import export
from torch.fx import Graph

from rushlight.compat.native.backend import EXTERNAL_CONSTANTS_TAG_KEY, PTN_SERIALIZATION_KEY
from rushlight.compat.native.partitioner import (
    FURTHER_OPS,
    NativePartitioner,
    NativeSupportedOperators,
    unsupported_nodes,
)
from rushlight.compat.native.passes import get_default_compile_config, get_default_passes
from rushlight.compiler.edge import EdgeProgramManager
from rushlight.delegate.lowered import LoweredBackendModule, get_lowered_backend_modules
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.ir.edge_ops import ops


class Function(nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


def lowered(function: Callable[..., torch.Tensor] | nn.Module, *inputs: torch.Tensor) -> EdgeProgramManager:
    module = function if isinstance(function, nn.Module) else Function(function)
    return to_edge_transform_and_lower(
        export(module, inputs),
        transform_passes=get_default_passes(),
        partitioner=[NativePartitioner()],
        compile_config=get_default_compile_config(),
    )


def delegates(manager: EdgeProgramManager) -> list[LoweredBackendModule]:
    return get_lowered_backend_modules(manager.exported_program().graph_module)


@pytest.mark.parametrize(
    ("target", "is_supported"),
    [
        *((op, True) for op in FURTHER_OPS),
        (torch.ops.aten.add.Tensor, True),
        (ops.edge.aten.add.Tensor, True),
        (torch.ops.aten.view_copy.default, True),
        (torch.ops.aten.relu_.default, True),
        (torch.ops.aten.index_copy_.default, True),
        (torch.ops.aten.add_.Tensor, False),
        (torch.ops.aten.linalg_solve_triangular.default, False),
        (torch.ops.higher_order.cond, False),
        (max, False),
    ],
)
def test_operators(target: Any, is_supported: bool) -> None:
    node = Graph().call_function(target)
    assert NativeSupportedOperators().is_node_supported({}, node) is is_supported
    assert not NativeSupportedOperators().is_node_supported({}, Graph().placeholder("x"))


def test_a_delegate_computes_what_the_program_computes() -> None:
    torch.manual_seed(0)
    module, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)), torch.randn(3, 4)
    manager = lowered(module, x)
    (delegate,) = delegates(manager)
    tensors = {key: value.detach() for key, value in module.state_dict().items()}
    (result,) = Interpreter(delegate.processed_bytes, tensors).run("forward", x)
    torch.testing.assert_close(result, module(x))
    store = delegate.named_data_store_output
    assert store is not None and store.external_data["native_weights"].keys() == tensors.keys()
    assert not store.pte_data
    assert bytes(manager.to_executorch().buffer)[4:8] == b"ET12"


def test_a_cond_is_in_the_partition_of_its_neighbors() -> None:
    def choose(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.cond(x.sum() > 0, lambda a, b: a + b, lambda a, b: a * b, (x, y)) - y)

    inputs = (torch.ones(3), torch.ones(3))
    (delegate,) = delegates(lowered(choose, *inputs))
    (result,) = Interpreter(delegate.processed_bytes, {}).run("forward", *inputs)
    assert torch.equal(result, choose(*inputs))


def test_other_operators_stay_in_the_program() -> None:
    def solve(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(x + x, x * x, upper=True) - x

    manager = lowered(solve, torch.eye(3))
    assert len(delegates(manager)) == 2
    nodes = manager.exported_program().graph.nodes
    assert any("linalg_solve_triangular" in str(node.target) for node in nodes)


def test_a_cond_with_another_operator_is_not_taken() -> None:
    def choose(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, torch.special.bessel_j0, lambda a: a * 2.0, (x,))

    program = export(Function(choose), (torch.eye(3),))
    missing = {node.target for node in unsupported_nodes(program.graph_module)}
    assert torch.ops.aten.special_bessel_j0.default in missing
    assert torch.ops.higher_order.cond not in missing and torch.ops.aten.mul.Tensor not in missing
    manager = lowered(choose, torch.eye(3))
    nodes = manager.exported_program().graph.nodes
    assert any(node.target is torch.ops.higher_order.cond for node in nodes)


def test_preserved_operators() -> None:
    program = export(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)), (torch.ones(1, 4),))
    assert NativePartitioner().ops_to_not_decompose(program) == ([torch.ops.aten.linear.default], None)
    manager = to_edge(program).to_backend(NativePartitioner())
    assert NativePartitioner().ops_to_not_decompose(manager.exported_program()) == ([], None)


def test_options() -> None:
    def options(partitioner: NativePartitioner) -> dict[str, bytes]:
        return {spec.key: spec.value for spec in partitioner.delegation_spec.compile_specs}

    assert options(NativePartitioner()) == {EXTERNAL_CONSTANTS_TAG_KEY: b"native_weights"}
    assert options(NativePartitioner("file")) == {EXTERNAL_CONSTANTS_TAG_KEY: b"file"}
    assert options(NativePartitioner(None)) == {}
    assert options(NativePartitioner(None, _serialize_as_ptn=True)) == {PTN_SERIALIZATION_KEY: b"1"}
    with pytest.raises(ValueError, match="external_constants_tag only applies to the constants of program"):
        NativePartitioner(_serialize_as_ptn=True)
