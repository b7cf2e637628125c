"""Passes in the form in which code for ExecuTorch calls them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import Build, calls, edge_of
from torch._export.verifier import Verifier
from torch.export import export
from torch.export.experimental import _export_forward_backward
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from rushlight.compat.graph_passes import (
    ConstPropPass,
    CSEPass,
    DimOrderOpsRevertPass,
    EdgeToBackendOpsPass,
    MemoryFormatOpsPass,
    OpReplacePass,
    ReplaceBrokenOpsWithFunctionalOpsPass,
    ToDevicePass,
    constant_prop_pass,
    convert_constant_dim_order_pass,
    dead_code_elimination_pass,
    generate_missing_debug_handles,
    insert_write_back_for_buffers_pass,
    make_alloc_node,
    propagate_dynamic_shape,
    transform_exported_program,
    weights_to_outputs_pass,
)
from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir import memory_ops, meta
from rushlight.ir.edge_ops import EdgeOpOverload, ops
from rushlight.runtime import Runtime

aten = torch.ops.aten


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight.exp() + torch.full((3,), 2.0)


class Returned(torch.nn.Module):
    """Computes its output from the weight alone."""

    def __init__(self, weight: torch.nn.Parameter) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * 2


class Stored(torch.nn.Module):
    """A weight in int8."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Buffer(torch.tensor([1, 2, 3], dtype=torch.int8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.ops.quantized_decomposed.dequantize_per_tensor.default(
            self.weight, 0.5, 0, -128, 127, torch.int8
        )


@pytest.mark.parametrize("edge", [False, True])
def test_weights_are_dequantized_in_programs_of_torch_alone(edge: bool) -> None:
    net, x = Stored(), torch.ones(3)
    program = constant_prop_pass(edge_of(net, x) if edge else export(net, (x,)))
    assert any("dequantize" in name for name in calls(program.graph_module)) is edge
    torch.testing.assert_close(program.module()(x), net(x))


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


class Sliced(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(6.0).reshape(3, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.weight.unsqueeze(1).expand(3, 4, 2).sum(1)


def test_views_of_constants_are_computed() -> None:
    inputs = (torch.ones(3, 2),)
    program = export(Sliced(), inputs)
    assert constant_prop_pass(program) is program
    (spec,) = [spec for spec in program.graph_signature.input_specs if spec.kind is InputKind.CONSTANT_TENSOR]
    assert spec.target == "_prop_tensor_constant0" and spec.persistent
    assert program.constants["_prop_tensor_constant0"].is_contiguous() and not program.state_dict
    assert torch.equal(program.module()(*inputs), Sliced()(*inputs))


def test_outputs_may_be_constants() -> None:
    class Sum(torch.nn.Module):
        def forward(self) -> torch.Tensor:
            return torch.tensor(3) + torch.tensor(5)

    program = constant_prop_pass(to_edge(export(Sum(), ())).exported_program())
    program._validate()
    assert calls(program.graph_module) == ["clone.default"] and program.module()() == 8


@pytest.mark.parametrize(
    ("skips", "expected"), [(True, "clone.default"), (False, "dim_order_ops._clone_dim_order.default")]
)
def test_constants_that_are_outputs_are_cloned(skips: bool, expected: str) -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(2, 3))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return self.weight.exp(), x + 1, self.weight

    net, x = Two(), torch.randn(4)
    manager = to_edge(export(net, (x,)))
    program = constant_prop_pass(manager.exported_program(), _skip_dim_order=skips)
    program._validate()
    assert calls(program.graph_module).count(expected) == 2
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    for found, wanted in zip(method.execute([x]), net(x), strict=True):
        torch.testing.assert_close(found, wanted)


def test_clones_in_programs_of_torch_are_operators_of_torch() -> None:
    net, x = Net(), torch.randn(4, 2)
    program = constant_prop_pass(export(Returned(net.weight), (x,)))
    assert any(node.target is aten.clone.default for node in program.graph.nodes)
    torch.testing.assert_close(program.module()(x), net.weight * 2)


def test_weights_stay_quantized_and_bodies_stay_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    class Quantized(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.ones(3, dtype=torch.int8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            qd = torch.ops.quantized_decomposed
            weight = qd.dequantize_per_tensor.default(self.weight, 0.5, 0, -128, 127, torch.int8)
            return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x * weight,))

    config = EdgeCompileConfig(_check_ir_validity=False)
    program = to_edge(export(Quantized(), (torch.ones(3),)), compile_config=config).exported_program()
    constant_prop_pass(program)
    assert "dequantize_per_tensor" in program.graph_module.code
    assert "does not constant propagate in control flow modules" in caplog.text


@pytest.mark.parametrize("persistent", [True, False])
def test_layouts_of_constants(persistent: bool) -> None:
    class Permuted(torch.nn.Module):
        held: torch.Tensor
        last: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("held", torch.randn(4, 3, 2).permute(2, 0, 1), persistent=persistent)
            self.register_buffer("last", torch.randn(1, 2, 4, 3).to(memory_format=torch.channels_last))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.held + self.last

    module, inputs = Permuted(), (torch.ones(2, 4, 1),)
    expected = module(*inputs)
    program = to_edge(export(module, inputs)).exported_program()
    assert convert_constant_dim_order_pass(program) is program
    held = {**program.state_dict, **program.constants}
    assert held["held"].is_contiguous() and not held["last"].is_contiguous()
    assert torch.equal(program.module()(*inputs), expected)
    (value,) = [node.meta["val"] for node in program.graph.nodes if node.name == "b_held"]
    assert value.is_contiguous()


def test_views_become_copies() -> None:
    class Transposed(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.t() + 1

    inputs = (torch.randn(2, 3),)
    module = export(Transposed(), inputs).graph_module
    changed = ReplaceBrokenOpsWithFunctionalOpsPass().call(module).graph_module
    targets = [node.target for node in changed.graph.nodes if node.op == "call_function"]
    assert targets[0] is aten.t_copy.default
    assert torch.equal(changed(*inputs)[0], Transposed()(*inputs))


def test_operators_over_known_values_are_computed_while_tracing() -> None:
    one = torch.ones(2)

    class AddOnes(ConstPropPass):
        def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
            if op is ops.edge.aten.mul.Tensor:
                args = (args[0], super().call_operator(aten.add.Tensor, (one, one), {}, meta))
            return super().call_operator(op, args, kwargs, meta)

    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * x

    module = to_edge(export(Scaled(), (torch.ones(2),))).exported_program().graph_module
    changed = AddOnes().call(module).graph_module
    assert [node.target for node in changed.graph.nodes if node.op == "call_function"] == [
        ops.edge.aten.mul.Tensor
    ]
    assert torch.equal(changed(torch.full((2,), 3.0))[0], torch.full((2,), 6.0))


def test_arithmetic_of_sizes_becomes_operators_of_the_runtime() -> None:
    class AddSize(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + (x.shape[0] - 1)

    program = export(AddSize(), (torch.ones(3, 2),), dynamic_shapes={"x": {0: torch.export.Dim("n", max=8)}})
    code = to_edge(program).transform([EdgeToBackendOpsPass()]).exported_program().graph_module.code
    assert "executorch_prim_sub_Scalar" in code and "operator.sub" not in code


def test_verifiers_of_a_transformed_program() -> None:
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 3 + 0 * x

    class OwnVerifier(Verifier):
        dialect = "OWN"

    program = export(Scaled(), (torch.ones(2),))
    changed = transform_exported_program(
        program, dead_code_elimination_pass, AddNothing(), override_verifiers=[OwnVerifier]
    )
    assert changed.verifiers == [OwnVerifier]
    assert OwnVerifier not in program.verifiers
    assert transform_exported_program(program, AddNothing()).verifiers == program.verifiers
    with pytest.raises(TypeError, match="list is not a pass: .* override_verifiers"):
        transform_exported_program(program, [AddNothing()])


class AddNothing(PassBase):
    def call(self, graph_module: torch.fx.GraphModule) -> PassResult:
        return PassResult(graph_module, True)


def test_results_that_nobody_computes_have_no_memory() -> None:
    """The gradient of the input of a convolution is None, and comes before those of its parameters."""

    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = torch.nn.Conv2d(2, 3, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.convolution(x).exp().sum()

    torch.manual_seed(0)
    module, inputs = Loss(), (torch.randn(1, 2, 3, 3),)
    joint = _export_forward_backward(export(module, inputs).run_decompositions({}))
    results = (
        Runtime.get()
        .load_program(to_edge(joint).to_executorch().buffer)
        .load_method("forward")
        .execute(inputs)
    )
    module(*inputs).backward()
    for parameter, gradient in zip(module.convolution.parameters(), results[1:3], strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-5, atol=1e-5)


def test_constants_are_numbered_from_the_last_node() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x + self.a.exp()) * self.a.neg()  # type: ignore[operator]

    program = constant_prop_pass(to_edge(export(Net(), (torch.ones(3),))).exported_program())
    read = [node.args[1].name for node in program.graph.nodes if node.op == "call_function"]
    assert read == ["_prop_tensor_constant1", "_prop_tensor_constant0"]
    assert torch.equal(program.constants["_prop_tensor_constant1"], torch.ones(3).exp())
