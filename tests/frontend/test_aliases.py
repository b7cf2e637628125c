"""Writes through views agree with eager mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.frontend.decompose import decompose, why_general


def view_then_write(x: Any) -> Any:
    y = x.clone()
    v = y.view(8, 2)
    v[0] = 7.0
    return y, v


def write_base_then_read_view(x: Any) -> Any:
    y = x.clone()
    v = y[1:3]
    y.mul_(2)
    return v + 1, y


def overlapping_slices(x: Any) -> Any:
    y = x.clone()
    a, b = y[:3], y[2:]
    a.add_(1)
    b.mul_(10)
    return y, a, b


def chain_of_views(x: Any) -> Any:
    y = x.clone()
    y.t()[1:].unsqueeze(0).squeeze(0)[0].fill_(3)
    return y


def diagonal(x: Any) -> Any:
    y = x.clone()
    y.diagonal().zero_()
    return y


def converting_write(x: Any) -> Any:
    y = x.clone()
    y[0] = torch.tensor([1, 2, 3, 4])
    y[1].copy_(x[2].double())
    return y


def twice_through_one_view(x: Any) -> Any:
    y = x.clone()
    v = y[0]
    v += 1
    v *= 3
    return y.sum(), v


def input_through_view(x: Any) -> Any:
    x[0] = 0.0
    return x * 1


def a_view_read_anew_where_another_is_taken(x: Any) -> Any:
    y = x * 2
    v = y[1:2]
    y[:3] = 0
    return y[1:1], v


def a_view_read_anew_while_one_like_it_is_written(x: Any) -> Any:
    y = x + x
    v = y[1:4:2]
    y[3:3] = y[3:3].clone()
    v[..., :1] = -2
    return v * 1


def content_in_another_order(x: Any) -> Any:
    y = torch.stack([x, x + 1], 1)
    y.permute(0, 2, 1).index_copy_(0, torch.tensor([3]), x.reshape(1, 4, 4)[..., :2])
    return y


def a_view_of_a_base_in_another_order(x: Any) -> Any:
    y = x.clone()
    y.t().masked_fill_(x > 3, 0.5)
    v = y.view(2, 8)
    v[0] += 1
    y.t().mul_(2)
    y.view(16)[3:7].sub_(1)
    return y, v


def an_expanded_view(x: Any) -> Any:
    """`base + (view - base)` would lose 0.3 next to 1e8, and bool tensors cannot be subtracted."""
    y, mask = x[:1] * 1e8, x[1:2] > 5
    v = y.expand(3, 4, 4)
    v.fill_(0.3)
    w = mask.expand(-1, -1)
    w |= mask.flip(1)
    w ^= True
    return y, v, w, mask


def items_of_lists(x: Any) -> Any:
    y = x.clone()
    first, second = y.chunk(2, 1)
    row = y.unbind(0)[2]
    part = y.split([1, 3], dim=-1)[1]
    first.mul_(-1)
    y[0] += 1
    row.copy_(second[:, 0])
    y.split(3)[1].zero_()
    part.t()[0].add_(0.5)
    return y, first, second, row, part


def copies_by_layout(x: Any) -> Any:
    """A write changes the layout in the new graph, but not which of these operators copy."""
    y = x.clone()
    v = y[:, ::2]
    v.mul_(3)
    a, b, c = v.contiguous(), v.reshape(8), v.flatten()
    a.zero_()
    b.add_(1)
    c[0] = 7
    return y, v, a, b, c


def views_by_layout(x: Any) -> Any:
    y = x.t().clone()
    y.addmm_(x, x)
    a, b = y.contiguous(), y.t().reshape(16)
    a.zero_()
    b[:3] = 5
    return y, a, b


def dims_changed_in_place(x: Any) -> Any:
    y = x.clone()
    row = y[0]
    y.t_()
    row.add_(1)
    column = y[:, 1]
    y.unsqueeze_(0).mul_(2)
    column.sub_(3)
    y.squeeze_(0)
    return y, row, column


def an_inactive_dropout(x: Any) -> Any:
    y = x.clone()
    torch.nn.functional.dropout(y, 0.3, training=False).add_(1)
    return y


def diagonals_filled_through_views(x: Any) -> Any:
    y = torch.cat([x, x])
    y.t()[:, :3].fill_diagonal_(5)
    y.unsqueeze(0).squeeze(0).fill_diagonal_(7.5, wrap=True)
    z = y.view(2, 2, 2, 4)[..., 1:3]
    z.fill_diagonal_(-1)
    y.long()[1:].fill_diagonal_(3)
    return y, z


def complex_views(x: Any) -> Any:
    y = torch.complex(x, x.t() + 1)
    z, copied = y.conj(), y.conj().resolve_conj()
    z.mul_(2 - 1j)
    y.real[0].add_(1)
    y.imag.t()[1].zero_()
    copied.zero_()
    pairs = x.clone()
    torch.view_as_complex(pairs.view(2, 4, 2))[1].mul_(1j)
    bits = x.clone()
    bits.view(torch.int32)[0].bitwise_and_(0x7F000000)
    return tuple(torch.view_as_real(part.resolve_conj()) for part in (y, z, copied)), pairs, bits


def windows(x: Any) -> Any:
    """as_strided counts elements in the memory of its argument, which a write must not change."""
    y = x.t().clone()
    y.addmm_(x, x)
    first = y.as_strided((4,), (1,))
    y.as_strided((2, 2), (4, 1), 1).add_(1)
    y.mul_(x)
    z = x.clone().t()
    z.as_strided((2, 3), (1, 4), 1).zero_()
    return y, first, z, z.t().as_strided((4,), (5,))


CASES = [
    complex_views,
    windows,
    an_inactive_dropout,
    diagonals_filled_through_views,
    copies_by_layout,
    views_by_layout,
    dims_changed_in_place,
    items_of_lists,
    an_expanded_view,
    a_view_of_a_base_in_another_order,
    content_in_another_order,
    view_then_write,
    write_base_then_read_view,
    overlapping_slices,
    chain_of_views,
    diagonal,
    converting_write,
    twice_through_one_view,
    input_through_view,
    a_view_read_anew_where_another_is_taken,
    a_view_read_anew_while_one_like_it_is_written,
]


class Net(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


class Shapes(torch.fx.Interpreter):
    """Runs a graph, and compares the shape of each tensor with that of its metadata."""

    def run_node(self, node: Any) -> Any:
        result = super().run_node(node)
        if isinstance(result, torch.Tensor):
            assert result.shape == node.meta["val"].shape, node.format_node()
        return result


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_writes_through_views(function: Any) -> None:
    x = torch.arange(16.0).reshape(4, 4)
    program = torch.export.export(Net(function), (x.clone(),))
    assert why_general(program) is None
    core = decompose(program)
    assert not any(
        node.op == "call_function"
        and getattr(node.target, "_schema", None)
        and node.target._schema.is_mutable
        for node in core.graph.nodes
    )
    Shapes(core.graph_module).run(*core.state_dict.values(), *core.constants.values(), x.clone())
    expected_input, actual_input = x.clone(), x.clone()
    torch.testing.assert_close(core.module()(actual_input), function(expected_input))
    torch.testing.assert_close(actual_input, expected_input)


def test_a_buffer_written_through_a_view_is_a_mutation() -> None:
    class Cache(torch.nn.Module):
        cache: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("cache", torch.zeros(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.cache[1:2].copy_(x)
            return self.cache.sum(0)

    program = torch.export.export(Cache(), (torch.ones(1, 4),))
    core = decompose(program)
    assert list(core.graph_signature.buffers_to_mutate.values()) == ["cache"]
    run = core.module()
    torch.testing.assert_close(run(torch.ones(1, 4)), torch.ones(4))
    torch.testing.assert_close(run(torch.full((1, 4), 5.0)), torch.full((4,), 5.0))
