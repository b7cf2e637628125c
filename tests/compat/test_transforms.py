"""Passes that backends share change the graph as described, and do not change results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase

import rushlight
from rushlight.compat.transforms import arithmetic, constants, linear, permutes, views
from rushlight.compat.transforms.batch_norm import FuseBatchNormWithConvPass
from rushlight.compat.transforms.clones import RemoveCloneOpsPass
from rushlight.compat.transforms.items import RemovedIndicesError, RemoveGetItemPass
from rushlight.exir import EdgeCompileConfig, to_edge
from rushlight.ir.edge_ops import ops
from rushlight.testing.graph_builder import GraphBuilder, single_op_builder
from rushlight.testing.program_builder import IrMode, ProgramBuilder

edge = ops.edge.aten
ROWS = torch.randn(4, 3)
Function = Callable[..., Any]


class Module(nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def edge_program(model: nn.Module | Function, *inputs: torch.Tensor) -> ExportedProgram:
    module = model if isinstance(model, nn.Module) else Module(model)
    config = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True)
    return to_edge(export(module.eval(), inputs), compile_config=config).exported_program()


def counts(module: GraphModule) -> dict[str, int]:
    calls = (node for node in module.graph.nodes if node.op == "call_function")
    return dict(Counter(getattr(node.target, "__name__", str(node.target)) for node in calls))


def built(function: Callable[[GraphBuilder, Any], Any], *inputs: torch.Tensor) -> GraphModule:
    builder = GraphBuilder()
    builder.output([function(builder, *[builder.placeholder(f"x{i}", x) for i, x in enumerate(inputs)])])
    return builder.get_graph_module()


def run(rewriting: PassBase, module: GraphModule, *inputs: torch.Tensor) -> dict[str, int]:
    """Runs a pass, requires equal results, and returns the counts of operators after it."""
    result = rewriting(module)
    assert result is not None
    before, after = module(*inputs), result.graph_module(*inputs)
    torch.testing.assert_close(after, before)
    for node in result.graph_module.graph.nodes:
        assert node.op == "output" or "val" in node.meta, node
    again = rewriting(result.graph_module)
    assert again is not None and counts(again.graph_module) == counts(result.graph_module)
    return counts(result.graph_module)


def chain(builder: GraphBuilder, x: Any) -> Any:
    first = builder.call_operator(edge.view_copy.default, (x, [2, 6]))
    positive = builder.call_operator(edge.abs.default, (first,))
    second = builder.call_operator(edge.view_copy.default, (positive, [12]))
    root = builder.call_operator(edge.sqrt.default, (second,))
    return builder.call_operator(edge.view_copy.default, (root, [3, 4]))


def test_fuse_view_copy() -> None:
    found = run(views.FuseViewCopyPass(), built(chain, ROWS), ROWS)
    assert found == {"aten.view_copy.default": 1, "aten.abs.default": 1, "aten.sqrt.default": 1}


@pytest.mark.parametrize(("last", "left"), [([12], 1), ([4, 3], 0)])
def test_collapse_view_copy(last: list[int], left: int) -> None:
    def twice(builder: GraphBuilder, x: Any) -> Any:
        first = builder.call_operator(edge.view_copy.default, (x, [2, 6]))
        second = builder.call_operator(edge.view_copy.default, (first, last))
        return builder.call_operator(edge.neg.default, (second,))

    for rewriting in (views.CollapseViewCopyPass(), views.FuseCascadedViewOpsPass()):
        found = run(rewriting, built(twice, ROWS), ROWS)
        is_collapsing = isinstance(rewriting, views.CollapseViewCopyPass)
        assert found.get("aten.view_copy.default", 0) == (left if is_collapsing else 1)


@pytest.mark.parametrize(
    ("shape", "view", "expected"),
    [
        ((2, 1, 3), [2, 3], "aten.squeeze_copy.dims"),
        ((1, 2, 1, 3), [2, 3], "aten.squeeze_copy.dims"),
        ((2, 3), [1, 2, 3], "aten.unsqueeze_copy.default"),
        ((2, 3), [2, 3, 1], "aten.unsqueeze_copy.default"),
        ((2, 3), [3, 2], "aten.view_copy.default"),
        ((2, 3), [1, 1, 2, 3], "aten.view_copy.default"),
    ],
)
def test_view_copy_to_squeeze_unsqueeze(shape: tuple[int, ...], view: list[int], expected: str) -> None:
    x = torch.randn(shape)
    module = single_op_builder([x], edge.view_copy.default, (x, view))
    assert run(views.ViewCopyToSqueezeUnsqueezePass(), module, x) == {expected: 1}


def test_squeeze_and_unsqueeze_to_view() -> None:
    def function(builder: GraphBuilder, x: Any) -> Any:
        y = builder.call_operator(edge.unsqueeze_copy.default, (x, 0))
        return builder.call_operator(edge.squeeze_copy.dims, (y, [0]))

    found = run(views.ReplaceSqueezeAndUnsqueezeWithViewPass(), built(function, ROWS), ROWS)
    assert found == {"aten.view_copy.default": 2}


class TestRemoveClones:
    def test_clones_between_operators(self) -> None:
        program = edge_program(lambda x: torch.neg(torch.relu(x).clone()), ROWS)
        assert "aten.clone.default" in counts(program.graph_module)
        assert "aten.clone.default" not in run(RemoveCloneOpsPass(), program.graph_module, ROWS)

    @pytest.mark.parametrize("keeps", [False, True])
    def test_clones_from_input_to_output(self, keeps: bool) -> None:
        module = single_op_builder([ROWS], edge.clone.default, (ROWS,))
        found = run(RemoveCloneOpsPass(preserve_input_output_copies=keeps), module, ROWS)
        assert found == ({"aten.clone.default": 1} if keeps else {})

    def test_a_clone_that_moves_stays(self) -> None:
        image = torch.randn(1, 3, 4, 4)
        module = single_op_builder(
            [image], edge.clone.default, (image,), {"memory_format": torch.channels_last}
        )
        assert run(RemoveCloneOpsPass(), module, image) == {"aten.clone.default": 1}

    @pytest.mark.parametrize("scale", [0.5, 0.25])
    def test_quantization_around_a_clone(self, scale: float) -> None:
        quantized = ops.edge.quantized_decomposed

        def function(builder: GraphBuilder, x: Any) -> Any:
            params = (0.5, 0, -128, 127, torch.int8)
            y = builder.call_operator(quantized.quantize_per_tensor.default, (x, *params))
            y = builder.call_operator(quantized.dequantize_per_tensor.default, (y, *params))
            y = builder.call_operator(edge.clone.default, (y,))
            return builder.call_operator(quantized.quantize_per_tensor.default, (y, scale, *params[1:]))

        module = built(function, ROWS)
        found = run(RemoveCloneOpsPass(), module, ROWS)
        assert ("quantized_decomposed.dequantize_per_tensor.default" in found) == (scale != 0.5)
        apart = run(RemoveCloneOpsPass(eliminate_quant_dequant_pairs=False), module, ROWS)
        assert "quantized_decomposed.dequantize_per_tensor.default" in apart


def test_mean_to_sum_div() -> None:
    module = single_op_builder([ROWS], edge.mean.dim, (ROWS, [0]))
    found = run(arithmetic.MeanToSumDivPass(), module, ROWS)
    assert found == {"aten.sum.dim_IntList": 1, "aten.full.default": 1, "aten.div.Tensor": 1}


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_scalars_become_tensors(name: str) -> None:
    for packet in (getattr(edge, name), getattr(torch.ops.aten, name)):
        module = single_op_builder([ROWS], packet.Scalar, (ROWS, 3))
        found = run(arithmetic.ReplaceScalarWithTensorArgPass(), module, ROWS)
        assert len(found) == 2 and any("Tensor" in target for target in found)
    only_add = arithmetic.ReplaceScalarWithTensorArgPass({edge.add.Scalar: edge.add.Tensor})
    module = single_op_builder([ROWS], edge.mul.Scalar, (ROWS, 3))
    assert run(only_add, module, ROWS) == {"aten.mul.Scalar": 1}


def test_rank_0_to_rank_1() -> None:
    number = torch.tensor(2.0)
    module = single_op_builder([number], edge.neg.default, (number,))
    result = arithmetic.Rank0ToRank1Pass()(module)
    assert result is not None and result.modified
    (placeholder,) = result.graph_module.graph.find_nodes(op="placeholder")
    assert placeholder.meta["val"].shape == (1, 1)


class TestLinear:
    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize("shape", [(5, 4), (2, 5, 4)])
    def test_layers(self, bias: bool, shape: tuple[int, ...]) -> None:
        inputs = torch.randn(shape)
        model = nn.Linear(4, 3, bias=bias)
        program = edge_program(model, inputs)
        state = [tensor for tensor in program.state_dict.values()]
        found = run(linear.AddmmToLinearPass(), program.graph_module, *state, inputs)
        assert found == {"aten.linear.default": 1}

    def test_products_without_transpose_stay(self) -> None:
        inputs = torch.randn(5, 4), torch.randn(4, 3)
        module = single_op_builder(inputs, edge.mm.default, inputs)
        assert run(linear.AddmmToLinearPass(), module, *inputs) == {"aten.mm.default": 1}

    def test_in_place(self) -> None:
        program = edge_program(nn.Linear(4, 3), torch.randn(5, 4))
        graph = linear.apply_addmm_mm_to_linear_transform(program.graph)
        assert graph is program.graph and counts(program.graph_module) == {"aten.linear.default": 1}
        (layer,) = program.graph.find_nodes(op="call_function", target=edge.linear.default)
        assert linear.get_shape(layer) == [5, 3]


class TestRemoveGetItem:
    def test_a_pool_and_a_maximum(self) -> None:
        image = torch.randn(1, 3, 4, 4)
        program = edge_program(lambda x: nn.functional.max_pool2d(x, 2), image)
        assert run(RemoveGetItemPass(), program.graph_module, image) == {"aten.max_pool2d.default": 1}
        program = edge_program(lambda x: torch.max(x, 2, keepdim=True)[0], image)
        assert run(RemoveGetItemPass(), program.graph_module, image) == {"aten.amax.default": 1}

    def test_indices(self) -> None:
        image = torch.randn(1, 3, 4, 4)
        both = edge_program(lambda x: torch.max(x, 2), image)
        assert run(RemoveGetItemPass(), both.graph_module, image)["aten.max.dim"] == 1
        program = edge_program(lambda x: nn.functional.max_pool2d(x, 2, return_indices=True), image)
        with pytest.raises(RemovedIndicesError, match="max_pool2d_with_indices.*2 users"):
            RemoveGetItemPass().call(program.graph_module)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
def test_batch_norm_goes_into_a_convolution(bias: bool, transposed: bool) -> None:
    layer = nn.ConvTranspose2d if transposed else nn.Conv2d
    model = nn.Sequential(layer(3, 4, 3, bias=bias), nn.BatchNorm2d(4)).eval()
    model[1].running_var.uniform_(0.5, 2)  # type: ignore[operator, union-attr]
    image = torch.randn(1, 3, 8, 8)
    program = edge_program(model, image)
    specs = program.graph_signature.input_specs
    state = [program.state_dict[str(spec.target)] for spec in specs if spec.kind is not InputKind.USER_INPUT]
    found = run(FuseBatchNormWithConvPass(program), program.graph_module, *state, image)
    assert found == {"aten.convolution.default": 1}


class TestConstants:
    def program(self) -> ExportedProgram:
        builder = ProgramBuilder()
        w = builder.placeholder("w", nn.Parameter(torch.randn(3)), InputKind.PARAMETER)
        b = builder.placeholder("b_state", torch.randn(3), InputKind.BUFFER)
        c = builder.placeholder("c", torch.randn(3), InputKind.CONSTANT_TENSOR)
        x = builder.placeholder("x", torch.randn(3))
        y = builder.call_operator(edge.add.Tensor, (w, b))
        builder.output(
            [builder.call_operator(edge.mul.Tensor, (builder.call_operator(edge.add.Tensor, (y, c)), x))]
        )
        return builder.get_program()

    def node(self, program: ExportedProgram, name: str) -> torch.fx.Node:
        return next(node for node in program.graph.nodes if node.name == name)

    @pytest.mark.parametrize("name", ["w", "b_state", "c"])
    def test_read_and_replace(self, name: str) -> None:
        program = self.program()
        node = self.node(program, name)
        assert constants.is_param_node(program, node)
        assert constants.get_param_tensor(program, node).shape == (3,)  # type: ignore[union-attr]
        constants.set_param_tensor(program, node, torch.ones(3))
        assert torch.equal(constants.get_param_tensor(program, node), torch.ones(3))  # type: ignore[arg-type]
        program.validate()

    def test_an_input_is_none(self) -> None:
        program = self.program()
        assert not constants.is_param_node(program, self.node(program, "x"))
        with pytest.raises(RuntimeError, match=r"x \(placeholder\) is not a parameter"):
            constants.get_param_tensor(program, self.node(program, "x"))
        assert constants.get_param_tensor(program, None) is None

    @pytest.mark.parametrize("kind", [InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR])
    def test_add_and_remove(self, kind: InputKind) -> None:
        program = self.program()
        before = len(program.graph_signature.input_specs)

        def create() -> torch.fx.Node:
            with program.graph.inserting_before(self.node(program, "w")):
                persistent = True if kind is InputKind.BUFFER else None
                return constants.create_constant_placeholder(
                    program, program.graph, "new", kind, torch.ones(2), persistent
                )

        node = create()
        assert create() is node
        assert program.graph_signature.input_specs[0].kind is kind
        program.graph_module.recompile()
        program.validate()
        constants.delete_constant_placeholder(program, node)
        assert len(program.graph_signature.input_specs) == before
        program.validate()

    def test_refused_places_and_kinds(self) -> None:
        program = self.program()
        arguments = (program, program.graph, "new", InputKind.BUFFER, torch.ones(2))
        with program.graph.inserting_after(self.node(program, "x")):
            with pytest.raises(RuntimeError, match="persistent_buffer must be"):
                constants.create_constant_placeholder(*arguments)
            with pytest.raises(RuntimeError, match="would follow a user input"):
                constants.create_constant_placeholder(*arguments, persistent_buffer=True)
        with pytest.raises(RuntimeError, match="w has users"):
            constants.delete_constant_placeholder(program, self.node(program, "w"))
        program.validate()

    def test_a_mutable_buffer(self) -> None:
        program = self.program()
        node = constants.create_mutable_buffer(program, "b_count", torch.zeros(1))
        assert node.name == "b_count" and "count" in program.state_dict
        assert program.graph_signature.buffers_to_mutate == {"b_count": "count"}
        assert [spec.arg.name for spec in program.graph_signature.input_specs] == [
            "w",
            "b_state",
            "b_count",
            "c",
            "x",
        ]
        program.validate()
        with pytest.raises(RuntimeError, match="count already"):
            constants.create_mutable_buffer(program, "b_count", torch.zeros(1))
        with pytest.raises(ValueError, match="needs a name"):
            constants.create_mutable_buffer(program, " ", torch.zeros(1))


def test_programs_of_both_dialects_are_built() -> None:
    for mode, op in ((IrMode.EXIR, edge.exp.default), (IrMode.ATEN, torch.ops.aten.exp.default)):
        builder = ProgramBuilder(mode)
        x = builder.placeholder("x", ROWS)
        builder.output([builder.call_operator(op, (x,))])
        program = builder.get_program()
        torch.testing.assert_close(program.module()(ROWS)[0], ROWS.exp())
    builder = ProgramBuilder()
    builder.output([builder.call_operator(edge.exp.default, (builder.placeholder("x", ROWS),))])
    program_file = builder.get_edge_program().to_executorch().buffer
    torch.testing.assert_close(rushlight.load(program_file)(ROWS)[0], ROWS.exp())


class RemoveNegations(permutes.RemoveOrReplacePass):
    """Removes pairs of negations."""

    targets = [edge.neg.default]  # noqa: RUF012

    def maybe_remove_or_replace(self, node: torch.fx.Node) -> bool:
        source = node.args[0]
        if not isinstance(source, torch.fx.Node) or source.target is not edge.neg.default:
            return False
        node.replace_all_uses_with(source.args[0])  # type: ignore[arg-type]
        return True


class TestPermuteHelpers:
    def test_arguments_by_name(self) -> None:
        module = single_op_builder([ROWS], edge.softplus.default, (ROWS, 2))
        (node,) = module.graph.find_nodes(op="call_function", target=edge.softplus.default)
        assert permutes.get_arg(node, "beta", int) == 2 and permutes.get_arg(node, "threshold") == 20
        with pytest.raises(TypeError, match="beta of .* is int, not list"):
            permutes.get_arg(node, "beta", list)
        with pytest.raises(ValueError, match="no argument 'alpha'; it has self, beta, threshold"):
            permutes.get_arg(node, "alpha")
        permutes.set_arg(node, "beta", 3)
        permutes.set_arg(node, "threshold", 5)
        assert node.args[1] == 3 and node.kwargs == {"threshold": 5}

    def test_dimensions(self) -> None:
        x = torch.randn(2, 3, 4)
        for op, args in ((edge.permute_copy.default, ([2, 0, 1],)), (edge.transpose_copy.int, (0, -1))):
            module = single_op_builder([x], op, (x, *args))
            (node,) = module.graph.find_nodes(op="call_function", target=op)
            of = (
                permutes.get_permuted_dims
                if op is edge.permute_copy.default
                else permutes.get_transposed_dims
            )
            assert of(node, [2, 3, 4]) == list(permutes.get_shape(module, node) or ())
            assert permutes.get_edge_overload_packet(op).__name__.endswith(op._schema.name.split("::")[1])
        assert permutes.get_shape(module, 2.5) == torch.Size([1])

    def test_a_pass_over_some_operators(self) -> None:
        def twice(builder: GraphBuilder, x: Any) -> Any:
            return builder.call_operator(edge.neg.default, (builder.call_operator(edge.neg.default, (x,)),))

        assert run(RemoveNegations(), built(twice, ROWS), ROWS) == {}
