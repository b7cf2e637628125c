"""Attention from single operators becomes one step.

The results with all kinds of masks agree with eager PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, run
from tests.backends.cpu.test_plan import kinds  # type: ignore[attr-defined]
from torch import Tensor, nn
from torch.nn import functional as F

from rushlight.backends.cpu.plan.tables import Attention, Copy, Elementwise, Gemm, Normalize


class Windows(nn.Module):
    """Attention in windows [n, 49, width], with a bias by position and a mask by window, as in Swin."""

    bias: torch.Tensor
    mask: torch.Tensor

    def __init__(self, windows: int, heads: int, width: int, is_shifted: bool) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.windows, self.heads, self.is_shifted = windows, heads, is_shifted
        self.register_buffer("bias", torch.randn(1, heads, 49, 49))
        self.register_buffer("mask", torch.randn(windows, 49, 49).sign() * 100 - 100)

    def forward(self, x: Tensor) -> Tensor:
        n, t, c = x.shape
        parts = self.qkv(x).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0] * (c // self.heads) ** -0.5, parts[1], parts[2]
        scores = q.matmul(k.transpose(-2, -1)) + self.bias
        if self.is_shifted:
            scores = scores.view(n // self.windows, self.windows, self.heads, t, t)
            scores = (scores + self.mask[None, :, None]).view(-1, self.heads, t, t)
        return F.softmax(scores, -1).matmul(v).transpose(1, 2).reshape(n, t, c)


@pytest.mark.parametrize("is_shifted", [False, True])
def test_windows_are_one_step(is_shifted: bool) -> None:
    inputs = (torch.randn(4, 49, 48),)
    model = Windows(4, 3, 48, is_shifted)
    program, outside = lower(model, inputs)
    assert outside == [] and kinds(program) == [Gemm, Attention]
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


SCALES = torch.tensor([0.5, 2.0, -1.0]).view(3, 1, 1)

WRITTEN_OUT: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "plain": lambda q, k, v, m: torch.softmax(q @ k.mT, -1) @ v,
    "scaled": lambda q, k, v, m: torch.softmax(q @ k.mT * -0.25, -1) @ v,
    "divided": lambda q, k, v, m: torch.softmax(q @ k.mT / 3 + m, -1) @ v,
    "both_scaled": lambda q, k, v, m: torch.softmax((q * 0.5) @ (k * 0.6).mT, -1) @ v,
    "two_masks": lambda q, k, v, m: torch.softmax(m + q @ k.mT * 0.3 + m[..., :1], -1) @ v,
}
NOT_ONE: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Any]] = {
    "shares_are_read": lambda q, k, v, m: ((s := torch.softmax(q @ k.mT, -1)) @ v, s + 1),
    "scores_are_read": lambda q, k, v, m: (torch.softmax(s := q @ k.mT, -1) @ v, s.exp()),
    "scaled_masks": lambda q, k, v, m: torch.softmax((q @ k.mT + m) * 0.3, -1) @ v,
    "own_factors": lambda q, k, v, m: torch.softmax(q @ k.mT * m, -1) @ v,
    "factors_of_rows": lambda q, k, v, m: torch.softmax(q @ k.mT * m[:, :1], -1) @ v,
    "masks_scaled_by_heads": lambda q, k, v, m: torch.softmax((q @ k.mT + m) * SCALES, -1) @ v,
    "of_columns": lambda q, k, v, m: torch.softmax(q @ k.mT, -2) @ v,
    "transposed": lambda q, k, v, m: torch.softmax(q @ k.mT, -1).mT @ q,
    "shares_for_several_values": lambda q, k, v, m: torch.softmax(q[0, 0] @ k[0, 0].mT, -1) @ v,
    "heads_for_several_values": lambda q, k, v, m: torch.softmax(q[:1] @ k[:1].mT, -1) @ v,
}
INPUTS = tuple(torch.randn(shape) for shape in ((2, 3, 13, 8), (2, 3, 21, 8), (2, 3, 21, 9), (13, 21)))


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_written_out_attention_is_one_step(name: str) -> None:
    program, outside = lower(WRITTEN_OUT[name], INPUTS)
    found = [kind for kind in kinds(program) if kind is not Copy]
    assert outside == [] and found == [Attention]
    assert_close(run(program, INPUTS), expected(WRITTEN_OUT[name], INPUTS), 2e-6)


HEAD_SCALES: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "alone": lambda q, k, v, m: torch.softmax(q @ k.mT * SCALES, -1) @ v,
    "with_masks": lambda q, k, v, m: torch.softmax(q @ k.mT * SCALES * 0.5 + m + m[..., :1], -1) @ v,
    "unit_length": lambda q, k, v, m: (
        torch.softmax(F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * SCALES + m, -1) @ v
    ),
}


CAUSAL = torch.ones(13, 21).tril(5).bool()
CHOICES: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "filled": lambda q, k, v, m: torch.softmax((q @ k.mT * 0.3).masked_fill(~CAUSAL, -torch.inf), -1) @ v,
    "chosen": lambda q, k, v, m: (
        torch.softmax(torch.where(CAUSAL, q @ k.mT + m, torch.finfo(torch.float32).min), -1) @ v
    ),
}
OTHER_CHOICES: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "of_numbers": lambda q, k, v, m: torch.softmax(torch.where(CAUSAL, q @ k.mT, -3.0), -1) @ v,
    "computed": lambda q, k, v, m: torch.softmax((q @ k.mT).masked_fill(m > 1, -torch.inf), -1) @ v,
    "whole_rows": lambda q, k, v, m: torch.softmax((q @ k.mT).masked_fill(CAUSAL[:, :1], -1e38), -1) @ v,
}


@pytest.mark.parametrize("name", CHOICES)
def test_scores_chosen_by_a_constant_are_masked(name: str) -> None:
    program, outside = lower(CHOICES[name], INPUTS)
    assert outside == [] and [kind for kind in kinds(program) if kind is not Copy] == [Attention]
    assert_close(run(program, INPUTS), expected(CHOICES[name], INPUTS), 2e-6)


@pytest.mark.parametrize("name", OTHER_CHOICES)
def test_other_choices_of_scores_stay(name: str) -> None:
    program, _ = lower(OTHER_CHOICES[name], INPUTS)
    assert Attention not in kinds(program)
    assert_close(run(program, INPUTS), expected(OTHER_CHOICES[name], INPUTS), 2e-6)


@pytest.mark.parametrize("name", HEAD_SCALES)
def test_scales_of_heads_are_multiplied_with_queries(name: str) -> None:
    program, outside = lower(HEAD_SCALES[name], INPUTS)
    found = [kind for kind in kinds(program) if kind not in (Copy, Elementwise, Normalize)]
    assert outside == [] and found == [Attention]
    assert_close(run(program, INPUTS), expected(HEAD_SCALES[name], INPUTS), 2e-6)


@pytest.mark.parametrize("name", NOT_ONE)
def test_what_else_reads_scores_has_them(name: str) -> None:
    program, _ = lower(NOT_ONE[name], INPUTS)
    assert Attention not in kinds(program)
    assert_close(run(program, INPUTS), expected(NOT_ONE[name], INPUTS), 2e-6)


# Shapes of queries, keys, values and, if there are four, a mask.
RANKS: dict[str, tuple[tuple[int, ...], ...]] = {
    "two": ((5, 8), (9, 8), (9, 6)),
    "two_mask": ((5, 8), (9, 8), (9, 6), (5, 9)),
    "five": ((2, 3, 4, 5, 8), (2, 3, 4, 9, 8), (2, 3, 4, 9, 6)),
    "five_few": ((2, 3, 4, 2, 8), (2, 3, 4, 9, 8), (2, 3, 4, 9, 6)),
    "five_grouped": ((2, 3, 4, 5, 8), (2, 3, 2, 9, 8), (2, 3, 2, 9, 8)),
    "five_mask": ((2, 3, 4, 5, 8), (2, 3, 4, 9, 8), (2, 3, 4, 9, 8), (2, 3, 4, 5, 9)),
    "five_row_mask": ((2, 3, 4, 5, 8), (2, 3, 4, 9, 8), (2, 3, 4, 9, 8), (9,)),
    "five_mask_of_outer": ((2, 3, 4, 5, 8), (2, 3, 4, 9, 8), (2, 3, 4, 9, 8), (2, 1, 1, 1, 9)),
    "five_mask_of_middle": ((2, 3, 4, 5, 8), (2, 3, 4, 9, 8), (2, 3, 4, 9, 8), (3, 1, 5, 1)),
    "six": ((2, 3, 1, 2, 5, 8), (2, 3, 1, 2, 9, 8), (2, 3, 1, 2, 9, 8)),
    "six_mask": ((2, 3, 2, 2, 5, 8), (2, 3, 2, 2, 9, 8), (2, 3, 2, 2, 9, 8), (3, 1, 2, 5, 9)),
    "empty": ((2, 0, 4, 5, 8), (2, 0, 4, 9, 8), (2, 0, 4, 9, 8)),
}


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("name", RANKS)
def test_any_number_of_leading_dimensions(name: str, is_turned: bool) -> None:
    """With `is_turned`, operands are permuted views."""
    shapes = RANKS[name]
    rank = len(shapes[0])
    turn = (rank - 2, *range(rank - 2), rank - 1) if is_turned else tuple(range(rank))
    back = sorted(range(rank), key=lambda i: turn[i])
    is_grouped = shapes[0][-3:-2] != shapes[1][-3:-2]

    def model(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (t.permute(back) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=is_grouped)

    data = [torch.randn(shape) for shape in shapes]
    inputs = (*(t.permute(turn).contiguous() for t in data[:3]), *data[3:])
    program, outside = lower(model, inputs)
    assert outside == [] and Attention in kinds(program)
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


class Blocks(nn.Module):
    """Attention in blocks of an image [n, blocks, positions, width], as in NesT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(3, 0, 4, 1, 2, 5)
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        return self.out(y.permute(0, 2, 3, 1, 4).flatten(3))


def test_blocks_are_read_where_they_lie() -> None:
    inputs = (torch.randn(2, 3, 7, 16),)
    model = Blocks(16, 4)
    program, outside = lower(model, inputs)
    assert outside == [] and kinds(program) == [Gemm, Attention, Gemm]
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


def test_dynamic_leading_dimensions() -> None:
    model, names = Blocks(16, 4), ("n", "blocks", "places")
    sizes = {i: torch.export.Dim(name, min=1, max=9) for i, name in enumerate(names)}
    program, outside = lower(model, (torch.randn(2, 3, 7, 16),), (sizes,))
    assert set(outside) <= {"aten.sym_size.int"} and kinds(program) == [Gemm, Attention, Gemm]
    for shape in ((1, 1, 1), (2, 3, 7), (9, 1, 3), (1, 5, 9)):
        inputs = (torch.randn(*shape, 16),)
        assert_close(run(program, inputs), expected(model, inputs), 2e-6)


MASKS = {
    "of_floats": torch.randn(2, 1, 13, 21),
    "of_truths": torch.randn(1, 3, 13, 21) > 0,
    "by_columns": torch.randn(13, 21),
    "by_query": torch.randn(2, 1, 13, 1),
    "without_some": torch.full((13, 21), -float("inf")).triu(3),
    "by_query_truths": torch.randn(2, 1, 1, 21) > 0,
    "by_columns_truths": torch.randn(13, 21) > 0,
    "of_true": torch.ones(13, 21, dtype=torch.bool),
    "of_true_for_one_head": torch.arange(3)[None, :, None, None] + torch.randn(1, 3, 13, 21) < 1.5,
    "of_true_for_some_queries": torch.arange(13)[:, None] + torch.arange(21) < 25,
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("queries", [13, 3])
def test_masks(name: str, queries: int) -> None:
    q, k, v, _ = INPUTS
    mask = MASKS[name]
    mask = mask[..., :queries, :] if mask.shape[-2] == 13 else mask
    is_turned = name.startswith("by_columns")

    def model(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.t() if is_turned else mask)

    inputs = (
        q[..., :queries, :].contiguous(),
        k,
        v,
        mask.t().contiguous() if is_turned else mask.contiguous(),
    )
    program, outside = lower(model, inputs)
    assert outside == []
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


@pytest.mark.parametrize("keys", [5, 40])
def test_queries_see_what_is_before_them(keys: int) -> None:
    def model(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    inputs = tuple(torch.randn(1, 2, n, 16) for n in (23, keys, keys))
    program, _ = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


@pytest.mark.parametrize("name", ["divided", "two_masks"])
@pytest.mark.parametrize("least", [torch.finfo(torch.float32).min, -1e30, -1e10])
def test_rows_masked_as_a_whole_see_all_keys_alike(name: str, least: float) -> None:
    mask = torch.zeros(13, 21)
    mask[:, 15:] = mask[4] = least
    inputs = (*INPUTS[:3], mask)
    program, _ = lower(WRITTEN_OUT[name], inputs)
    assert_close(run(program, inputs), expected(WRITTEN_OUT[name], inputs))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
@pytest.mark.parametrize("queries", [13, 3])
def test_queries_without_keys_have_zeros(queries: int, dtype: torch.dtype) -> None:
    """In written-out attention, they have NaN."""
    mask = torch.zeros(queries, 21)
    mask[:, 15:] = mask[1] = -torch.inf
    inputs = (INPUTS[0][:, :, :queries], *INPUTS[1:3], mask if dtype is torch.float32 else mask == 0)
    program, _ = lower(F.scaled_dot_product_attention, inputs)
    assert_close(run(program, inputs), expected(F.scaled_dot_product_attention, inputs), 2e-6)
    if dtype is torch.float32:
        program, _ = lower(WRITTEN_OUT["divided"], inputs)
        assert_close(run(program, inputs), expected(WRITTEN_OUT["divided"], inputs), 2e-6)


@pytest.mark.parametrize("queries", [13, 3])
def test_no_keys(queries: int) -> None:
    inputs = tuple(torch.randn(1, 2, rows, 8) for rows in (queries, 0, 0))
    for model in (F.scaled_dot_product_attention, lambda q, k, v: torch.softmax(q @ k.mT, -1) @ v):
        program, _ = lower(model, inputs)
        assert_close(run(program, inputs), expected(model, inputs))


def test_keys_and_values_that_are_concatenated_at_different_places() -> None:
    def model(q: Tensor, *parts: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, torch.cat(parts[:2], 2), torch.cat(parts[2:], 2))

    inputs = tuple(torch.randn(1, 2, rows, 8) for rows in (1, 6, 3, 4, 5))
    program, _ = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e30, 3e38])
@pytest.mark.parametrize("operand", range(3))
def test_special_numbers_are_eagers(operand: int, value: float) -> None:
    inputs = tuple(torch.randn(1, 2, rows, 16) for rows in (33, 21, 21))
    program, _ = lower(F.scaled_dot_product_attention, inputs)
    inputs[operand][0, 1, 2, 5] = value
    assert_close(run(program, inputs), expected(F.scaled_dot_product_attention, inputs))


@pytest.mark.parametrize("queries", [33, 2])
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
def test_nan_is_no_mask(dtype: torch.dtype, queries: int) -> None:
    inputs = tuple(torch.randn(1, 2, rows, 16) for rows in (queries, 21, 21))
    mask = torch.rand(queries, 21) > 0.3
    mask[1] = False
    if dtype is torch.float32:
        mask = torch.zeros(queries, 21).masked_fill(~mask, -torch.inf)
    program, _ = lower(F.scaled_dot_product_attention, (*inputs, mask))
    inputs[0][0, 1, :2, 5] = torch.nan
    assert_close(run(program, (*inputs, mask)), expected(F.scaled_dot_product_attention, (*inputs, mask)))


@pytest.mark.parametrize("shape", [(0, 3, 4), (0, 2, 3, 4), (2, 2, 0, 4)])
def test_attention_without_elements(shape: tuple[int, ...]) -> None:
    inputs = (torch.randn(shape),)

    def model(x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x)

    program, outside = lower(model, inputs)
    assert outside == []
    assert_close(run(program, inputs), expected(model, inputs))
