"""Operators of a backend that replace edge operators in a pass, up to the program file."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import EdgeProgramManager, to_edge
from rushlight.emit.errors import UnsupportedOperatorsError
from rushlight.ir.edge_ops import BackendOpOverload, bind_pattern_to_op, ops
from rushlight.ir.errors import MissingOutVariantError
from rushlight.target.kernel_table import host_kernel_table

library = torch.library.Library("test_fused", "DEF")
library.define("add_relu.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)")


@bind_pattern_to_op(library, "add_relu(Tensor a, Tensor b) -> Tensor")
def add_relu(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(a, b))


@bind_pattern_to_op(library, "without_out(Tensor a, Tensor b) -> Tensor")
def without_out(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(a, b))


class Fuse(PassBase):
    """Replaces relu(add(a, b)) by one operator."""

    def __init__(self, target: BackendOpOverload) -> None:
        super().__init__()
        self.target = target

    def call(self, graph_module: GraphModule) -> PassResult:
        for relu in list(graph_module.graph.nodes):
            if relu.target is not ops.edge.aten.relu.default:
                continue
            add = relu.args[0]
            with graph_module.graph.inserting_before(relu):
                fused = graph_module.graph.call_function(self.target, add.args)
            fused.meta = dict(relu.meta)
            relu.replace_all_uses_with(fused)
            graph_module.graph.erase_node(relu)
            graph_module.graph.erase_node(add)
        graph_module.recompile()
        return PassResult(graph_module, True)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + y) * 2


INPUTS = (torch.randn(3, 4), torch.randn(3, 4))


def fused(name: str) -> EdgeProgramManager:
    target = getattr(ops.backend.test_fused, name).default
    edge = to_edge(torch.export.export(Model(), INPUTS))
    return edge.transform([Fuse(target)])


def test_the_graph_keeps_its_meaning() -> None:
    edge = fused("add_relu")
    targets = [node.target for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    assert targets[0] is ops.backend.test_fused.add_relu.default
    assert "backend__ops_test_fused_add_relu_default" in edge.exported_program().graph_module.code
    torch.testing.assert_close(edge.exported_program().module()(*INPUTS), Model()(*INPUTS))


def test_it_is_called_through_its_out_variant() -> None:
    target = host_kernel_table().with_operators(["test_fused::add_relu.out"])
    program = fused("add_relu").to_executorch(ExecutorchBackendConfig(target=target))
    operators = program.executorch_program.execution_plan[0].operators
    assert [(op.name, op.overload) for op in operators] == [
        ("test_fused::add_relu", "out"),
        ("aten::mul", "out"),
    ]


def test_without_a_kernel_it_is_refused() -> None:
    with pytest.raises(
        UnsupportedOperatorsError, match=r"test_fused::add_relu\.out  float32  .*torch\.relu\(x \+ y\)"
    ):
        fused("add_relu").to_executorch()


def test_without_an_out_variant_it_is_refused() -> None:
    with pytest.raises(MissingOutVariantError) as caught:
        fused("without_out").to_executorch()
    assert (
        'torch.library.define("test_fused::without_out.out", '
        '"(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)")'
    ) in str(caught.value)
    assert "test_backend_ops.py" in str(caught.value)


def test_what_a_refusal_says_can_be_pasted() -> None:
    """After the line from the error message is added, an operator of torch.library.custom_op compiles."""

    @torch.library.custom_op("test_pasted::triple", mutates_args=())
    def triple(x: torch.Tensor) -> torch.Tensor:
        return 3 * x

    triple.register_fake(torch.empty_like)

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.test_pasted.triple(x)

    edge = to_edge(torch.export.export(Net(), (torch.ones(2),)))
    with pytest.raises(MissingOutVariantError) as caught:
        edge.to_executorch()
    (call,) = re.findall(r'torch\.library\.define\("[^"]*", "[^"]*"\)', str(caught.value))
    eval(call, {"torch": torch})
    with pytest.raises(UnsupportedOperatorsError, match=r"test_pasted::triple\.out"):
        edge.to_executorch()


@pytest.mark.parametrize(
    "functional, wanted",
    [
        (
            "one(Tensor x, float[] w, *, int k=3) -> Tensor",
            "one.out(Tensor x, float[] w, *, int k=3, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            "two(Tensor[] x) -> (Tensor, Tensor)",
            "two.out(Tensor[] x, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
        ),
        ("many.some(Tensor? x) -> Tensor[]", "many.out(Tensor? x, *, Tensor(a!)[] out) -> ()"),
        ("none() -> Tensor", "none.out(*, Tensor(a!) out) -> Tensor(a!)"),
    ],
)
def test_the_wanted_out_variant_is_one(functional: str, wanted: str) -> None:
    from rushlight.ir.out_variants import find_out_variant, out_schema

    schema = torch._C.parse_schema(f"test_wanted::{functional}")
    assert out_schema(schema) == f"test_wanted::{wanted}"
    scratch = torch.library.Library("test_wanted", "FRAGMENT")
    name = scratch.define(functional)
    scratch.define(wanted)
    packet = getattr(torch.ops.test_wanted, name.split("::")[-1].split(".")[0])
    variant = find_out_variant(getattr(packet, schema.overload_name or "default"))
    assert variant is not None and variant.op._overloadname == "out"
    scratch._destroy()
