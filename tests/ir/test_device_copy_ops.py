"""The operators that copy tensors between devices."""

import pytest
import torch

from rushlight.ir import device_copy_ops
from rushlight.ir.dim_order_ops import is_channel_last_dim_order, is_contiguous_dim_order
from rushlight.ir.out_variants import out_variant

assert device_copy_ops


@pytest.mark.parametrize("name", ["_h2d_copy", "_d2h_copy"])
@pytest.mark.parametrize(
    "x", [torch.ones(2, 3, dtype=torch.int32), torch.tensor(1.5), torch.empty(0, 3)], ids=str
)
def test_copies_are_clones_when_traced(name: str, x: torch.Tensor) -> None:
    packet = getattr(torch.ops.et_copy, name)
    result = packet(x)
    assert torch.equal(result, x) and result.dtype == x.dtype and result is not x
    out = torch.empty_like(x)
    assert packet.out(x, out=out) is out and torch.equal(out, x)
    assert out_variant(packet.default).op is packet.out


def test_dim_orders_of_tensors() -> None:
    x = torch.ones(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    assert (is_contiguous_dim_order(x), is_channel_last_dim_order(x)) == (True, False)
    assert (is_contiguous_dim_order(last), is_channel_last_dim_order(last)) == (False, True)
    assert not is_channel_last_dim_order(x[0])
