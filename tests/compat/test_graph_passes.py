"""Passes in the form in which code for ExecuTorch calls them."""

from __future__ import annotations

import pytest
import torch
from tests.passes.support import Build, calls, edge_of
from torch.export.experimental import _export_forward_backward
from torch.export.graph_signature import InputKind, OutputKind

from rushlight.compat.graph_passes import (
    CSEPass,
    DimOrderOpsRevertPass,
    MemoryFormatOpsPass,
    OpReplacePass,
    ToDevicePass,
    constant_prop_pass,
    dead_code_elimination_pass,
    generate_missing_debug_handles,
    insert_write_back_for_buffers_pass,
    make_alloc_node,
    propagate_dynamic_shape,
    weights_to_outputs_pass,
)
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir import memory_ops, meta
from rushlight.ir.edge_ops import EdgeOpOverload

aten = torch.ops.aten


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight.exp() + torch.full((3,), 2.0)


@pytest.mark.parametrize("everything", [False, True])
def test_operators_over_constants_become_constants(everything: bool) -> None:
    net, x = Net(), torch.randn(4, 2)
    program = edge_of(net, x)
    assert constant_prop_pass(program, set() if everything else None) is program
    names = calls(program.graph_module)
    assert "exp.default" not in names and ("full.default" in names) != everything
    kinds = [spec.kind for spec in program.graph_signature.input_specs]
    assert kinds == [InputKind.CONSTANT_TENSOR] * (2 if everything else 1) + [InputKind.USER_INPUT]
    assert not program.state_dict
    torch.testing.assert_close(program.module()(x), net(x))


def test_equal_calls_share_a_result() -> None:
    build = Build()
    x = build.input("x", 2)
    first, second = build.call(aten.add.Tensor, x, 1), build.call(aten.add.Tensor, x, 1)
    other, drawn = build.call(aten.add.Tensor, x, 1.0), build.call(aten.rand_like.default, x)
    again = build.call(aten.rand_like.default, x)
    module = build.finish(first, second, other, drawn, again)
    result = CSEPass()(module)
    assert result is not None and result.modified
    assert calls(module) == ["add.Tensor", "add.Tensor", "rand_like.default", "rand_like.default"]


def test_dead_code() -> None:
    build = Build()
    x = build.input("x", 2)
    build.call(aten.exp.default, x)
    module = build.finish(build.call(aten.sin.default, x))
    assert dead_code_elimination_pass(module).graph_module is module
    assert calls(module) == ["sin.default"]


def test_operators_of_the_edge_dialect() -> None:
    build = Build()
    module = build.finish(build.call(aten.sin.default, build.input("x", 2)))
    result = OpReplacePass()(module)
    assert result is not None
    assert isinstance(
        next(n for n in result.graph_module.graph.nodes if "sin" in n.name).target, EdgeOpOverload
    )


def test_devices_of_new_tensors() -> None:
    build = Build()
    made = build.call(aten.full.default, [2], 1.0, device=torch.device("cpu"))
    module = build.finish(made)
    ToDevicePass("meta")(module)
    assert made.kwargs["device"] == torch.device("meta")


class Counter(torch.nn.Module):
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(x)
        return self.count * 2


def test_new_contents_are_copied_back() -> None:
    module, signature = insert_write_back_for_buffers_pass(edge_of(Counter(), torch.ones(2)))
    assert calls(module)[-1] == "copy_.default"
    assert signature.output_specs[0].kind is OutputKind.BUFFER_MUTATION


def test_specs_and_handles() -> None:
    program = edge_of(Counter(), torch.ones(2))
    module = program.graph_module
    for one in propagate_dynamic_shape():
        result = one(module)
        module = module if result is None else result.graph_module
    assert all(meta.has_spec(node) for node in module.graph.nodes if node.op == "call_function")
    nodes = list(program.graph.nodes)
    meta.set_debug_handle(nodes[-2], None)
    generate_missing_debug_handles(program)
    handles = [meta.get_debug_handle(node) for node in nodes]
    assert all(handles) and len(set(map(str, handles))) > 2


def test_allocations() -> None:
    build = Build()
    module = build.finish(build.input("x", 2))
    node = make_alloc_node(module, torch.ones(2, 3), None)
    assert node.target is memory_ops.alloc and node.args == (((2, 3), torch.float32),)
    with pytest.raises(ValueError, match="not for int"):
        make_alloc_node(module, 3, None)


class Loss(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.linear(x), y)


def test_a_joint_graph_tells_where_gradients_and_parameters_begin() -> None:
    inputs = (torch.ones(1, 3), torch.tensor([1]))
    edge = to_edge(_export_forward_backward(torch.export.export(Loss(), inputs)))
    program = weights_to_outputs_pass(edge.exported_program())
    kinds = [spec.kind for spec in program.graph_signature.output_specs]
    assert kinds == [OutputKind.LOSS_OUTPUT] + [OutputKind.GRADIENT_TO_PARAMETER] * 2 + [OutputKind.TOKEN] * 2
    edge = to_edge(_export_forward_backward(torch.export.export(Loss(), inputs)))
    plans = {p.name: p for p in edge.to_executorch().executorch_program.execution_plan}

    def number(name: str) -> object:
        plan = plans[name]
        return getattr(plan.values[plan.outputs[0]].val, "int_val", None)

    assert number("__et_training_gradients_index_forward") == 1
    assert number("__et_training_parameters_index_forward") == 3
    with pytest.raises(ValueError, match="joint graph"):
        edge.to_executorch(ExecutorchBackendConfig(do_quant_fusion_and_const_prop=True))


def test_layouts_by_memory_format_and_back() -> None:
    class Converts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(torch.float16, memory_format=torch.channels_last).clone()

    module = edge_of(Converts(), torch.ones(1, 2, 3, 4)).graph_module
    before = [(node.target, node.kwargs) for node in module.graph.nodes]
    plain = DimOrderOpsRevertPass().call(module).graph_module
    assert calls(plain) == ["_to_copy.default", "clone.default"]
    conversion = next(node for node in plain.graph.nodes if node.op == "call_function")
    assert conversion.kwargs["memory_format"] is torch.channels_last
    again = MemoryFormatOpsPass().call(plain).graph_module
    assert [(node.target, node.kwargs) for node in again.graph.nodes] == before
