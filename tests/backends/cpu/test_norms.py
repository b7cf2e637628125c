"""Norms of rows: the operators of a decomposed norm become one step, and rows need not be evenly spaced."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, plan_of, run
from torch import Tensor, nn
from torch.nn import functional as F

from rushlight.backends.cpu.plan.tables import Elementwise, Normalize, Reduce

WEIGHT = torch.rand(33) + 0.5
X = torch.randn(3, 5, 7, 33)


def rms(x: Tensor) -> Tensor:
    """RMS norm as language models write it."""
    return WEIGHT * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def centered(x: Tensor, dim: int = -1) -> Tensor:
    return x - x.mean(dim, keepdim=True)


def layer_norm(x: Tensor) -> Tensor:
    """Layer norm as some models write it."""
    variance = (x - x.mean(-1, keepdim=True)).pow(2).mean(-1, keepdim=True)
    return WEIGHT * ((x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + 1e-6)) + WEIGHT


def of_variance(x: Tensor) -> Tensor:
    return centered(x) * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-6) * WEIGHT + WEIGHT


ONE_STEP: dict[str, Callable[[Tensor], Tensor]] = {
    "normalize": lambda x: F.normalize(x, dim=-1),
    "normalize_coarsely": lambda x: F.normalize(x, dim=3, eps=5.0),
    "divided_by_norm": lambda x: x / x.norm(dim=-1, keepdim=True),
    "divided_by_root": lambda x: x / (x * x).sum(-1, keepdim=True).sqrt(),
    "rms": rms,
    "rms_of_product": lambda x: x * torch.rsqrt((x * x).mean(3, keepdim=True) + 1e-5),
    "power": lambda x: x * (x.pow(2).mean(-1, keepdim=True) + 1e-6) ** -0.5,
    "layer_norm": layer_norm,
    "of_variance": of_variance,
    "centered_once": lambda x: (c := centered(x)) / torch.sqrt((c * c).mean(-1, keepdim=True) + 1e-6),
    "biased": lambda x: F.layer_norm(x, (33,)) + WEIGHT,
    "turned": lambda x: F.normalize(x.permute(0, 2, 1, 3), dim=-1),
    "turned_rms": lambda x: rms(x.permute(1, 0, 2, 3)),
    "turned_layer_norm": lambda x: F.layer_norm(x.permute(0, 2, 1, 3), (33,), WEIGHT),
    "one_part": lambda x: F.normalize(x.view(3, 5, 7, 3, 11)[:, :, :, 1].permute(0, 2, 1, 3), dim=-1),
}
SEVERAL_STEPS: dict[str, Callable[[Tensor], Tensor]] = {
    "norm_is_read": lambda x: x / (n := x.norm(dim=-1, keepdim=True)) + n,
    "squares_are_read": lambda x: x * torch.rsqrt((s := x * x).mean(-1, keepdim=True) + 1e-5) + s,
    "another_axis": lambda x: F.normalize(x, dim=1),
    "two_axes": lambda x: x / x.norm(dim=(-2, -1), keepdim=True),
    "bounded_above": lambda x: x / x.norm(dim=-1, keepdim=True).clamp(0.1, 2.0),
    "another_numerator": lambda x: (x + 1) / x.norm(dim=-1, keepdim=True),
    "tensor_as_epsilon": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + x[..., :1].abs()),
    "unbiased": lambda x: centered(x) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-6),
    "deviation": lambda x: centered(x) / (x.std(-1, keepdim=True, unbiased=False) + 1e-6),
    "mean_is_read": lambda x: (
        (c := x - (u := x.mean(-1, True))) / torch.sqrt(c.pow(2).mean(-1, keepdim=True) + 1e-6) + u
    ),
    "centered_by_others": lambda x: (
        centered(x, 1) / torch.sqrt(centered(x).pow(2).mean(-1, keepdim=True) + 1e-6)
    ),
    "scaled_by_another": lambda x: (
        centered(x) / torch.sqrt(centered(x.sin()).pow(2).mean(-1, keepdim=True) + 1e-6)
    ),
    "covariance": lambda x: (
        centered(x) * torch.rsqrt((centered(x) * centered(x.sin())).mean(-1, keepdim=True) + 1.0)
    ),
    "product": lambda x: centered(x) * torch.sqrt(centered(x).pow(2).mean(-1, keepdim=True) + 1e-6),
    "cubes": lambda x: x * torch.rsqrt(x.pow(3).abs().mean(-1, keepdim=True) + 1e-5),
}


@pytest.mark.parametrize("name", ONE_STEP)
def test_norms_are_one_step(name: str) -> None:
    program, outside = lower(ONE_STEP[name], (X,))
    assert outside == [] and kinds(program) == [Normalize]
    assert_close(run(program, (X,)), expected(ONE_STEP[name], (X,)), 1e-6)


@pytest.mark.parametrize("name", SEVERAL_STEPS)
def test_what_is_no_norm_stays(name: str) -> None:
    program, outside = lower(SEVERAL_STEPS[name], (X,))
    assert outside == [] and Normalize not in kinds(program)
    assert_close(run(program, (X,)), expected(SEVERAL_STEPS[name], (X,)), 2e-6)


def test_the_weight_of_an_rms_norm_is_a_part_of_the_step() -> None:
    program, _ = lower(rms, (X,))
    (step,) = plan_of(program).steps
    assert isinstance(step.operation, Normalize) and step.operation.weight is not None


class Channels(nn.Module):
    """A convolution and a norm of its channels, as in ConvNeXt."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 33, 2, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        variance = centered(x, 1).pow(2).mean(1, keepdim=True)
        x = centered(x, 1) / torch.sqrt(variance + 1e-6)
        return WEIGHT[:, None, None] * x + WEIGHT[:, None, None]


def test_channels_are_rows() -> None:
    model, inputs = Channels(), (torch.randn(1, 3, 8, 10),)
    program, outside = lower(model, inputs)
    found = [step.operation for step in plan_of(program).steps if isinstance(step.operation, Normalize)]
    assert outside == [] and len(found) == 1 and found[0].weight is not None and found[0].bias is not None
    assert not set(kinds(program)) & {Reduce, Elementwise}
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


def test_special_rows() -> None:
    rows = torch.tensor([[0.0, 0.0, 0.0], [1e-20, 0.0, 0.0], [torch.inf, 1.0, 2.0], [torch.nan, 1.0, 2.0]])
    for function in (lambda x: F.normalize(x, dim=-1), lambda x: x / x.norm(dim=-1, keepdim=True)):
        program, _ = lower(function, (rows,))
        torch.testing.assert_close(run(program, (rows,)), expected(function, (rows,)), equal_nan=True)


def test_numbers_of_rows_may_be_dynamic() -> None:
    rows = torch.export.Dim("rows", min=1, max=9)
    program, outside = lower(
        nn.Sequential(Turned(), nn.LayerNorm(33)), (torch.randn(2, 3, 4, 33),), ({2: rows},)
    )
    assert set(outside) <= {"aten.sym_size.int"}
    for count in (1, 4, 9):
        x = torch.randn(2, 3, count, 33)
        want = F.layer_norm(F.normalize(x.permute(0, 2, 1, 3), dim=-1), (33,))
        assert_close(run(program, (x,)), [want], 2e-6)


class Turned(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x.permute(0, 2, 1, 3), dim=-1)
