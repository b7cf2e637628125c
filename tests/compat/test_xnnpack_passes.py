"""Passes with the names of ExecuTorch's XNNPACK passes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.compat.test_transforms import ROWS, built, counts, edge_program, run
from torch import nn
from torch.export import export

from rushlight.compat.transforms.batch_norm import FuseBatchNormWithConvPass
from rushlight.compat.transforms.linear import AddmmToLinearPass
from rushlight.compat.xnnpack_passes.activations import FuseActivationPass
from rushlight.compat.xnnpack_passes.batch_norm import DecomposeBatchNormPass
from rushlight.compat.xnnpack_passes.clones import XNNPACKRemoveCloneOpsPass
from rushlight.compat.xnnpack_passes.concatenations import DecomposeConcatenatePass
from rushlight.compat.xnnpack_passes.custom_metadata import PropagateCustomMetaPass
from rushlight.compat.xnnpack_passes.manager import XNNPACKPass, XNNPACKPassManager
from rushlight.compiler.edge import to_edge
from rushlight.ir.edge_ops import ops
from rushlight.passes.remove_noops import RemoveNoopExpandCopyPass
from rushlight.testing.graph_builder import single_op_builder

edge, qd = ops.edge.aten, ops.edge.quantized_decomposed
PARAMS = (0.5, 0, -128, 127, torch.int8)


@pytest.mark.parametrize(
    ("activation", "bounds"),
    [(nn.ReLU(), (0, float("inf"))), (nn.Hardtanh(), (-1, 1)), (nn.Hardtanh(-0.5, 2.0), (-0.5, 2))],
)
def test_activations(activation: nn.Module, bounds: tuple[float, float]) -> None:
    program = edge_program(lambda x: activation(torch.add(x, x)), ROWS)
    result = FuseActivationPass()(program.graph_module)
    assert result is not None and counts(result.graph_module) == {"aten.add.Tensor": 1}
    (add,) = result.graph_module.graph.find_nodes(op="call_function", target=edge.add.Tensor)
    fused = FuseActivationPass.get_fused_activation(add)
    assert fused is not None and (fused.output_min, fused.output_max) == bounds
    assert add.meta[FuseActivationPass.FUSED_ACTIVATION_TAG] is fused


def test_activations_that_others_read_stay() -> None:
    program = edge_program(lambda x: (torch.relu(y := torch.add(x, x)), y), ROWS)
    result = FuseActivationPass()(program.graph_module)
    assert result is not None and not result.modified


@pytest.mark.parametrize(("number", "parts"), [(5, 1), (6, 2), (9, 2), (10, 3)])
@pytest.mark.parametrize("is_quantized", [False, True])
def test_concatenations(number: int, parts: int, is_quantized: bool) -> None:
    def join(builder: Any, x: Any) -> Any:
        sources = [x] * number
        if is_quantized:
            q = builder.call_operator(qd.quantize_per_tensor.default, (x, *PARAMS))
            sources = [builder.call_operator(qd.dequantize_per_tensor.default, (q, *PARAMS))] * number
        y = builder.call_operator(edge.cat.default, (sources, 1))
        return builder.call_operator(qd.quantize_per_tensor.default, (y, *PARAMS)) if is_quantized else y

    found = run(DecomposeConcatenatePass(), built(join, ROWS), ROWS)
    assert found["aten.cat.default"] == parts
    if is_quantized:
        assert found["quantized_decomposed.quantize_per_tensor.default"] == 2 + parts - 1


@pytest.mark.parametrize(("shape", "left"), [([4, 3], {}), ([2, 4, 3], {"aten.expand_copy.default": 1})])
def test_expansions(shape: list[int], left: dict[str, int]) -> None:
    module = single_op_builder([ROWS], edge.expand_copy.default, (ROWS, shape))
    assert run(RemoveNoopExpandCopyPass(), module, ROWS) == left


def test_metadata_of_the_user() -> None:
    module = single_op_builder([ROWS], qd.quantize_per_tensor.default, (ROWS, *PARAMS))
    (placeholder,) = module.graph.find_nodes(op="placeholder")
    placeholder.meta["custom"] = {"layer": 3}
    result = PropagateCustomMetaPass()(module)
    assert result is not None and result.modified
    (node,) = result.graph_module.graph.find_nodes(op="call_function", target=qd.quantize_per_tensor.default)
    assert node.meta["custom"] == {"layer": 3}


class SeesProgram(XNNPACKPass):
    seen: list[int] = []  # noqa: RUF012

    def call(self, graph_module: torch.fx.GraphModule) -> Any:
        self.seen.append(sum("batch_norm" in name for name in counts(self.exported_program.graph_module)))
        return super().call(graph_module)


def test_a_manager_runs_classes_of_passes() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 2))
    image = torch.randn(1, 3, 6, 6)
    program = edge_program(model, image)
    passes = [
        SeesProgram,
        FuseBatchNormWithConvPass,
        AddmmToLinearPass,
        XNNPACKRemoveCloneOpsPass,
        SeesProgram,
    ]
    after = XNNPACKPassManager(program, passes).transform()
    assert SeesProgram.seen == [1, 0]
    assert {"aten.convolution.default": 1, "aten.linear.default": 1}.items() <= counts(
        after.graph_module
    ).items()
    torch.testing.assert_close(after.module()(image), model(image), rtol=1e-4, atol=1e-4)
    with pytest.raises(RuntimeError, match="must contain classes of passes"):
        XNNPACKPassManager(program, [SeesProgram(program)]).transform()


@pytest.mark.parametrize(
    ("norm", "shape"),
    [
        (nn.BatchNorm1d(3), (2, 3)),
        (nn.BatchNorm1d(3), (2, 3, 4)),
        (nn.BatchNorm2d(3), (2, 3, 4, 5)),
        (nn.BatchNorm2d(3, affine=False), (2, 3, 4, 5)),
    ],
)
def test_batch_norms_become_convolutions(norm: nn.Module, shape: tuple[int, ...]) -> None:
    norm.train()(torch.randn(8, *shape[1:]) * 2 + 1)
    norm.eval()
    inputs = (torch.randn(shape),)
    program = to_edge(export(norm, inputs)).exported_program()
    decomposed = XNNPACKPassManager(program, [DecomposeBatchNormPass]).transform()
    targets = [node.target for node in decomposed.graph.nodes if node.op == "call_function"]
    assert targets.count(edge.convolution.default) == 1
    assert not any("batch_norm" in str(target) for target in targets)
    torch.testing.assert_close(decomposed.module()(*inputs), norm(*inputs))


def test_batch_norms_that_cannot_become_convolutions_stay() -> None:
    class Given(nn.Module):
        def forward(self, x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
            return nn.functional.batch_norm(x, mean, variance)

    for model, inputs in (
        (Given(), (torch.randn(2, 3, 4), torch.zeros(3), torch.ones(3))),
        (nn.BatchNorm3d(3).eval(), (torch.randn(1, 3, 2, 2, 2),)),
    ):
        program = to_edge(export(model, inputs)).exported_program()
        result = DecomposeBatchNormPass(program)(program.graph_module)
        assert result is not None and not result.modified
