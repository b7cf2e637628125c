"""Passes that prepare programs for XNNPACK: layouts, copies, paddings, convolutions, PReLU, compositions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.compat.test_transforms import built, counts, edge_program, run
from torch import nn
from torch.export import ExportedProgram, export
from torch.fx import GraphModule
from torch.nn.functional import interpolate, scaled_dot_product_attention

from rushlight.compat.quantized_nodes import is_dequant, is_quant, is_tagged_as_implicit_q_dq
from rushlight.compat.xnnpack_passes.compositions import ConvertToSDPAPass, ConvertToUpsampleBilinear2d
from rushlight.compat.xnnpack_passes.convolutions import Conv1dUnsqueezePass, UnstoredWeightError
from rushlight.compat.xnnpack_passes.copies import RemoveRedundantCopyPass
from rushlight.compat.xnnpack_passes.layouts import ChannelsLastTaggedReshapePass
from rushlight.compat.xnnpack_passes.manager import DEFAULT_PASSES, XNNPACKPassManager
from rushlight.compat.xnnpack_passes.padding import InsertPadQDQPass
from rushlight.compat.xnnpack_passes.patterns import bilinear_2d_graphs, bilinear_2d_patterns, sdpa_graphs
from rushlight.compat.xnnpack_passes.prelu import PReLUReshapePass
from rushlight.compiler.config import EdgeCompileConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir.edge_ops import ops

aten = torch.ops.aten
edge, qd = ops.edge.aten, ops.edge.quantized_decomposed
IMAGE = torch.randn(1, 3, 8, 8)
PARAMS = (0.05, 3, -128, 127, torch.int8)
LAST, FIRST = torch.channels_last, torch.contiguous_format
COPY = "aten._to_copy.default"


def transformed(
    program: ExportedProgram, *passes: Any, inputs: tuple[torch.Tensor, ...] = (IMAGE,)
) -> GraphModule:
    """Runs passes over a program, requires equal results, and returns the graph."""
    after = XNNPACKPassManager(program, passes).transform()
    expected = program.module()(*inputs)
    torch.testing.assert_close(after.module()(*inputs), expected, rtol=1e-5, atol=1e-5)
    return after.graph_module


def quantized(x: torch.Tensor) -> torch.Tensor:
    q = torch.ops.quantized_decomposed
    result: torch.Tensor = q.dequantize_per_tensor(q.quantize_per_tensor(x, *PARAMS), *PARAMS)
    return result


def tags(module: GraphModule) -> list[bool]:
    nodes = (node for node in module.graph.nodes if is_quant(node) or is_dequant(node))
    return [is_tagged_as_implicit_q_dq(node) for node in nodes]


def layouts(module: GraphModule) -> list[Any]:
    return [n.kwargs["memory_format"] for n in module.graph.nodes if n.target is edge._to_copy.default]


class Added(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.offset = nn.Buffer(torch.randn(1, 3, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.offset


class Convs(nn.Module):
    def __init__(self, between: Any = None) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3)
        self.between = between or (lambda x: x)

    def forward(self, x: torch.Tensor) -> Any:
        return self.second(self.between(self.first(x)))


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (torch.relu, [LAST, FIRST]),
        (lambda x: x.view(1, 3, 16, 4), [LAST, FIRST, LAST, FIRST]),
        (Added(), [LAST, FIRST, LAST, FIRST]),
        (lambda x: x + x.mean((2, 3), keepdim=True), [LAST, FIRST]),
    ],
    ids=["any", "first", "constant", "last"],
)
def test_layouts_change_where_operators_need_it(between: Any, expected: list[Any]) -> None:
    program = edge_program(Convs(between), IMAGE)
    module = transformed(program, ChannelsLastTaggedReshapePass)
    assert layouts(module) == expected
    for node in module.graph.find_nodes(op="call_function", target=edge.convolution.default):
        assert ChannelsLastTaggedReshapePass.is_nhwc_node(node)
        assert node.meta["val"].is_contiguous(memory_format=LAST)
        assert node.meta[ChannelsLastTaggedReshapePass.XNN_NHWC_NODE]
    assert COPY not in counts(program.graph_module)


def test_inputs_with_channels_last_need_no_copy() -> None:
    image = IMAGE.to(memory_format=LAST)
    module = transformed(edge_program(Convs(), image), ChannelsLastTaggedReshapePass, inputs=(image,))
    assert layouts(module) == []


def test_matrices_have_no_layout() -> None:
    rows = torch.randn(2, 3)
    program = edge_program(lambda x: x.mean(1, keepdim=True), rows)
    assert layouts(transformed(program, ChannelsLastTaggedReshapePass, inputs=(rows,))) == []


def test_copies_of_quantized_images_are_implicit() -> None:
    program = edge_program(lambda x: quantized(torch.max_pool2d(quantized(x), 2)), IMAGE)
    program = XNNPACKPassManager(program, [DEFAULT_PASSES[11]]).transform()
    module = transformed(program, ChannelsLastTaggedReshapePass)
    assert layouts(module) == [LAST, FIRST]
    assert tags(module) == [False, True, True, False, False, True, True, False]


def test_dynamically_quantized_images_are_copied_before_the_choice() -> None:
    class Dynamic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x * torch.full((1, 3, 1, 1), 2.0)
            q = torch.ops.quantized_decomposed
            scale, zero = q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
            integers = q.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
            result: torch.Tensor = self.conv(
                q.dequantize_per_tensor.tensor(integers, scale, zero, -128, 127, torch.int8)
            )
            return result

    module = transformed(edge_program(Dynamic(), IMAGE), ChannelsLastTaggedReshapePass)
    assert layouts(module) == [LAST, FIRST]
    (choose,) = module.graph.find_nodes(op="call_function", target=qd.choose_qparams.tensor)
    (quantize,) = module.graph.find_nodes(op="call_function", target=qd.quantize_per_tensor.tensor)
    assert choose.args[0] is quantize.args[0] and choose.args[0].target is edge._to_copy.default
    assert choose.args[0].args[0].target is edge.mul.Tensor


@pytest.mark.parametrize(
    ("chain", "left"),
    [([LAST, FIRST], []), ([LAST, LAST], [LAST]), ([FIRST], []), ([LAST, FIRST, LAST, FIRST, LAST], [LAST])],
)
@pytest.mark.parametrize("is_quantized", [False, True])
def test_redundant_copies(chain: list[Any], left: list[Any], is_quantized: bool) -> None:
    def copies(builder: Any, x: Any) -> Any:
        x = builder.call_operator(qd.quantize_per_tensor.default, (x, *PARAMS)) if is_quantized else x
        for order in chain:
            x = builder.call_operator(qd.dequantize_per_tensor.default, (x, *PARAMS)) if is_quantized else x
            x = builder.call_operator(edge._to_copy.default, (x,), {"memory_format": order})
            x = builder.call_operator(qd.quantize_per_tensor.default, (x, *PARAMS)) if is_quantized else x
        return x

    module = built(copies, IMAGE)
    program = edge_program(Convs(), IMAGE)  # has no part in it: the graph has no parameters
    assert run(RemoveRedundantCopyPass(program), module, IMAGE).get(COPY, 0) == len(left)
    result = RemoveRedundantCopyPass(program)(module)
    assert result is not None and layouts(result.graph_module) == left


def test_redundant_copies_inside_a_quantized_pair() -> None:
    def copies(builder: Any, x: Any) -> Any:
        for orders in ([FIRST, LAST], [FIRST]):
            x = builder.call_operator(qd.quantize_per_tensor.default, (x, *PARAMS))
            x = builder.call_operator(qd.dequantize_per_tensor.default, (x, *PARAMS))
            for order in orders:
                x = builder.call_operator(edge._to_copy.default, (x,), {"memory_format": order})
        return builder.call_operator(qd.quantize_per_tensor.default, (x, *PARAMS))

    program = edge_program(Convs(), IMAGE)
    assert COPY not in run(RemoveRedundantCopyPass(program), built(copies, IMAGE), IMAGE)


@pytest.mark.parametrize(
    ("amounts", "value", "pairs"), [([0, 1, 0, 1], 0.0, 2), ([0, 1], 1.0, 1), ([0, -1], 0.0, 1)]
)
def test_paddings(amounts: list[int], value: float, pairs: int) -> None:
    program = edge_program(lambda x: torch.relu(nn.functional.pad(quantized(x), amounts, value=value)), IMAGE)
    module = transformed(program, InsertPadQDQPass)
    found = module.graph.find_nodes(op="call_function", target=qd.quantize_per_tensor.default)
    assert len(found) == pairs and tags(module) == [False, False, *[True] * (2 * pairs - 2)]
    again = InsertPadQDQPass(program)(module)
    assert again is not None and not again.modified


@pytest.mark.parametrize("is_quantized", [False, True])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_convolutions_over_one_dimension(is_quantized: bool, is_transposed: bool) -> None:
    kind = nn.ConvTranspose1d if is_transposed else nn.Conv1d
    layer = kind(3, 6, 3, stride=2, padding=1, groups=3)
    wave = torch.randn(2, 3, 9)
    around = quantized if is_quantized else (lambda x: x)

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return around(self.layer(around(x)))

    program = edge_program(Layer(), wave)
    module = transformed(program, Conv1dUnsqueezePass, inputs=(wave,))
    (conv,) = module.graph.find_nodes(op="call_function", target=edge.convolution.default)
    source, weight, _, stride, padding, dilation, transposed, extra, groups = conv.args
    assert (stride, padding, dilation, extra) == ([2, 1], [1, 0], [1, 1], [0, 0])
    assert (transposed, groups) == (is_transposed, 3)
    assert source.meta["val"].shape == (2, 3, 9, 1) and weight.meta["val"].dim() == 4
    assert tags(module) == ([False, False, True, True, True, True, False, False] if is_quantized else [])
    assert {key: tensor.dim() for key, tensor in program.state_dict.items()} == {
        "layer.weight": 3,
        "layer.bias": 1,
    }


def test_a_computed_weight_of_a_convolution_is_refused() -> None:
    inputs = (torch.randn(1, 3, 8), torch.randn(3, 3, 2))
    program = edge_program(torch.conv1d, *inputs)
    with pytest.raises(UnstoredWeightError, match="aten_convolution_default has the weight"):
        Conv1dUnsqueezePass(program)(program.graph_module)


class Kernel(nn.Module):
    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full(shape, 0.3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = aten._prelu_kernel(x, self.weight)
        return result


def prelu_program(shape: tuple[int, ...], image: torch.Tensor) -> ExportedProgram:
    options = EdgeCompileConfig(_check_ir_validity=False, preserve_ops=[aten._prelu_kernel.default])
    return to_edge(export(Kernel(shape), (image,)), compile_config=options).exported_program()


def test_prelu_gets_a_weight_for_each_channel() -> None:
    program = prelu_program((1, 1, 1, 1), IMAGE)
    module = transformed(program, PReLUReshapePass)
    (node,) = module.graph.find_nodes(op="call_function", target=edge._prelu_kernel.default)
    assert node.args[1].meta["val"].shape == (1, 3, 1, 1)
    assert [tuple(tensor.shape) for tensor in program.state_dict.values()] == [(1, 1, 1, 1)]
    many = prelu_program((1, 3, 1, 1), IMAGE)
    result = PReLUReshapePass(many)(many.graph_module)
    assert result is not None and not result.modified


def test_prelus_that_are_refused() -> None:
    def prelu(builder: Any, *operands: Any) -> Any:
        return builder.call_operator(edge._prelu_kernel.default, operands)

    program = prelu_program((1,), torch.randn(4))
    with pytest.raises(RuntimeError, match="Only constant weight PReLU"):
        PReLUReshapePass(program)(built(prelu, IMAGE, torch.ones(1, 1, 1, 1)))
    with pytest.raises(RuntimeError, match="4D weight required for XNNPACK PReLU, got: 1D"):
        PReLUReshapePass(program)(program.graph_module)
    program = prelu_program((1, 1, 1, 1), torch.randn(1, 2, 3, 4, 5))
    with pytest.raises(RuntimeError, match="4D input required for XNNPACK PReLU, got: 5D"):
        PReLUReshapePass(program)(program.graph_module)


def config(skip_dim_order: bool = True) -> EdgeCompileConfig:
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)


class Attention(nn.Module):
    def __init__(self, scale: float | None = None) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=self.scale)


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("rank", [2, 4])
def test_attention(scale: float | None, rank: int) -> None:
    inputs = (*(torch.randn(1, 2, 5, 4) for _ in range(3)), torch.randn(*[1] * (rank - 2), 5, 5))
    program = to_edge(export(Attention(scale), inputs), compile_config=config()).exported_program()
    module = transformed(program, ConvertToSDPAPass, inputs=inputs)
    found = module.graph.find_nodes(op="call_function", target=edge.scaled_dot_product_attention.default)
    assert len(found) == (rank == 2)
    if found:
        assert len(counts(module)) == 1
        assert found[0].kwargs["scale"] == pytest.approx(scale or 0.5)


class Resize(nn.Module):
    def __init__(self, factor: float, align_corners: bool) -> None:
        super().__init__()
        self.options: Any = {"scale_factor": factor, "align_corners": align_corners}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return interpolate(x, mode="bilinear", **self.options)


@pytest.mark.parametrize("skip_dim_order", [False, True])
@pytest.mark.parametrize(
    ("factor", "align_corners", "is_one"), [(3.0, False, True), (3.0, True, True), (1.3, False, False)]
)
def test_resizes(factor: float, align_corners: bool, is_one: bool, skip_dim_order: bool) -> None:
    table = {op: torch._decomp.decomposition_table[op] for op in (aten.upsample_bilinear2d.vec,)}
    exported = export(Resize(factor, align_corners), (IMAGE,)).run_decompositions(table)  # type: ignore[arg-type]
    program = to_edge(exported, compile_config=config(skip_dim_order)).exported_program()
    module = transformed(program, ConvertToUpsampleBilinear2d)
    found = counts(module)
    assert (found == {"aten.upsample_bilinear2d.vec": 1}) == is_one
    assert is_one or "aten.upsample_bilinear2d.vec" not in found


def test_patterns_are_made_once() -> None:
    assert sdpa_graphs() is sdpa_graphs() and len(sdpa_graphs()) == 4
    assert bilinear_2d_patterns() == list(bilinear_2d_graphs())
    assert sorted(bilinear_2d_graphs().values()) == [False, False, True, True]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.prelu = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.PReLU()
        self.linear = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.prelu(self.norm(self.conv(x)))
        result: torch.Tensor = self.linear(x.mean((2, 3)))
        return result


@pytest.mark.parametrize("passes", [None, []])
def test_a_manager_without_passes_runs_the_default_ones(passes: Any) -> None:
    model = Model()
    model.train()(torch.randn(4, 3, 8, 8) * 2)
    exported = export(model.eval(), (IMAGE,))
    program = to_edge(exported, compile_config=config(skip_dim_order=False)).exported_program()
    manager = XNNPACKPassManager(program, passes)
    assert manager.passes == list(DEFAULT_PASSES)
    after = manager.transform()
    torch.testing.assert_close(after.module()(IMAGE), model(IMAGE), rtol=1e-4, atol=1e-4)
    found = counts(after.graph_module)
    assert {"aten.convolution.default": 1, "aten.linear.default": 1, COPY: 2}.items() <= found.items()
    assert not any("batch_norm" in name or "dim_order" in name for name in found)
