"""Tensor specs: strides, dim orders, dynamism and alignment."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.ir.errors import InternalError
from rushlight.ir.spec import (
    TensorShapeDynamism,
    TensorSpec,
    contiguous_strides,
    dim_order_from_strides,
    is_dense_in,
    strides_from_dim_order,
)


@pytest.mark.parametrize(
    ("strides", "order"),
    [
        ((), ()),
        ((5, 1, 15), (2, 0, 1)),
        ((4, 3, 1, 1), (0, 1, 2, 3)),
        ((3, 1, 3, 3), (0, 2, 3, 1)),
        ((48, 1, 12, 3), (0, 2, 3, 1)),
        ((0, 1), (0, 1)),
    ],
)
def test_dim_order_from_strides(strides: Any, order: Any) -> None:
    assert dim_order_from_strides(strides) == order


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0)])
def test_strides_and_dim_orders_are_inverse(order: Any) -> None:
    strides = strides_from_dim_order((2, 3, 4), order)
    assert dim_order_from_strides(strides) == order
    assert sorted(strides)[0] == 1


def test_empty_dims_count_as_one() -> None:
    assert contiguous_strides((2, 0, 3)) == (3, 3, 1)
    assert contiguous_strides((2, 0, 3)) == torch.empty(2, 0, 3).stride()


def test_from_tensor() -> None:
    tensor = torch.empty(1, 3, 4, 4, dtype=torch.float16).to(memory_format=torch.channels_last)
    spec = TensorSpec.from_tensor(tensor)
    assert spec.dtype is spec.scalar_type is torch.float16 and spec.shape == [1, 3, 4, 4]
    assert spec.dim_order == (0, 2, 3, 1) and spec.stride == (48, 1, 12, 3)
    assert spec.nbytes() == 96 and spec.is_static_shape_tensor and not spec.const
    assert spec.mem_id is None and spec.lifetime == [None, None]


def test_a_constant_keeps_its_storage_alone() -> None:
    base = torch.arange(10.0)
    spec = TensorSpec.from_tensor(base[2:4], const=True)
    assert spec.const and spec.storage is not None and spec.storage.nbytes() == 8


def test_alignment() -> None:
    spec = TensorSpec(torch.float32, (3,))
    assert spec.allocated_memory == 16
    assert spec.realign(64) == 64 and spec.allocated_memory == 64


def test_in_place_base() -> None:
    base, spec = TensorSpec(torch.float32, (3,)), TensorSpec(torch.float32, (3,))
    spec.inplace_base = base
    assert spec.inplace_base is base is spec.storage_base
    spec.storage_base_offset = 4
    with pytest.raises(InternalError, match="4 bytes into its base"):
        _ = spec.inplace_base
    spec.init_mem_planning_fields()
    assert spec.inplace_base is None


def test_dynamism(export_case: Any) -> None:
    node = next(node for node in export_case("dynamic_batch").graph.nodes if node.name == "x")
    spec = TensorSpec.from_tensor(node.meta["val"])
    assert spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND == 1 and spec.is_upper_bound_tensor
    text = repr(spec)
    assert "DYNAMIC_BOUND" in text and "device=CPU:0" in text and "mem_offset" in spec.debug()


def test_density_of_symbolic_shapes_adds_no_guard() -> None:
    class Padded(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            y = torch.nn.functional.avg_pool2d(torch.nn.functional.pad(x, (3, 3, 3, 3)), 2)
            return y, y.transpose(2, 3), y[:, 1:], y[:1], x.to(memory_format=torch.channels_last)

    sizes = {0: torch.export.Dim("b", min=2, max=6), 2: torch.export.Dim("t", min=1, max=9)}
    program = torch.export.export(Padded(), (torch.randn(3, 2, 5, 8),), dynamic_shapes=(sizes,))
    results = [node.meta["val"] for node in program.graph.output_node().args[0]]
    guards = list(results[0].shape[0].node.shape_env.guards)
    assert [is_dense_in(tensor, (0, 1, 2, 3)) for tensor in results] == [True, False, False, True, False]
    assert [is_dense_in(tensor, (0, 2, 3, 1)) for tensor in results] == [False, False, False, False, True]
    assert results[0].shape[0].node.shape_env.guards == guards
