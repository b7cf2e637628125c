"""Modules that CpuPartitioner supports run completely in the backend, and agree with eager PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Function, assert_close, expected, kinds, lower, run
from torch import nn
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu.plan.tables import Elementwise


@dataclass
class Case:
    """A function of tensors, or a module, and the shapes of its inputs."""

    function: Any
    shapes: tuple[tuple[int, ...], ...]
    is_positive: bool = False
    tolerance: float = 2e-6


IMAGE = ((2, 6, 9, 7),)
WIDE = ((1, 32, 14, 14),)
MATRIX = ((5, 8),)
ROWS = ((2, 5, 24),)
VOLUME = ((2, 3, 4, 4, 5),)


def norm(kind: type[nn.Module], channels: int) -> nn.Module:
    module: Any = kind(channels)
    module.running_mean.uniform_(-1, 1)
    module.running_var.uniform_(0.5, 2)
    module.weight.data.uniform_(0.5, 2)
    module.bias.data.uniform_(-1, 1)
    return module


class Sine(nn.Module):
    """The activation of implicit networks."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)


class Residual(nn.Module):
    """A block of a residual network. With `project`, it changes the width."""

    def __init__(self, channels: int, project: bool = False) -> None:
        super().__init__()
        width = 2 * channels if project else channels
        stride = 2 if project else 1
        self.first = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.first_norm = norm(nn.BatchNorm2d, width)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.second_norm = norm(nn.BatchNorm2d, width)
        self.down = nn.Conv2d(channels, width, 1, 2) if project else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.down(x))


class Inverted(nn.Module):
    """An inverted bottleneck with squeeze and excitation."""

    def __init__(self, channels: int, wide: int, kernel: int = 3) -> None:
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(channels, wide, 1), norm(nn.BatchNorm2d, wide), nn.Hardswish())
        self.depthwise = nn.Sequential(
            nn.Conv2d(wide, wide, kernel, padding=kernel // 2, groups=wide), nn.ReLU6()
        )
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide, 1), nn.Hardsigmoid())
        self.project = nn.Conv2d(wide, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.depthwise(self.expand(x))
        return x + self.project(y * self.squeeze(y))


class Attention(nn.Module):
    """Attention with several heads over rows, with or without a causal mask."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=self.causal)  # type: ignore[misc]
        return self.out(y.transpose(1, 2).flatten(2))


class PlainAttention(nn.Module):
    """Attention from single operators."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.transpose(-1, -2) * 0.25, -1) @ v


class Embedded(nn.Module):
    """Scaled rows of a table, which constant indices select."""

    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(11, 8))
        self.register_buffer("scale", torch.randn(6, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.table[:7].t()[0]


CASES: dict[str, Case] = {
    "adaptive_pool": Case(nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive_pool_whole": Case(nn.AdaptiveAvgPool2d((3, 7)), IMAGE),
    "attention": Case(Attention(24, 3), ROWS),
    "attention_causal": Case(Attention(24, 2, causal=True), ((1, 37, 24),)),
    "attention_mask": Case(
        F.scaled_dot_product_attention, ((2, 3, 5, 8), (2, 3, 9, 8), (2, 3, 9, 8), (1, 1, 5, 9))
    ),
    "attention_plain": Case(PlainAttention(), ((2, 3, 7, 8),) * 3),
    "attention_joined": Case(
        lambda q, k, v, a, b: F.scaled_dot_product_attention(
            q, torch.cat((k, a), 2), torch.cat((v, b), 2), enable_gqa=True
        ),
        ((2, 4, 1, 8), (2, 2, 9, 8), (2, 2, 9, 8), (2, 2, 3, 8), (2, 2, 3, 8)),
    ),
    "attention_joined_mask": Case(
        lambda q, k, v, a, b, mask: F.scaled_dot_product_attention(
            q, torch.cat((k, a), -2), torch.cat((v, b), -2), attn_mask=mask
        ),
        ((1, 2, 4, 8), (1, 2, 9, 8), (1, 2, 9, 6), (1, 2, 3, 8), (1, 2, 3, 6), (4, 12)),
    ),
    "attention_joined_many": Case(
        lambda q, k, v, a, b: F.scaled_dot_product_attention(q, torch.cat((k, a), 2), torch.cat((v, b), 2)),
        ((1, 2, 7, 8), (1, 2, 9, 8), (1, 2, 9, 8), (1, 2, 3, 8), (1, 2, 3, 8)),
    ),
    "attention_long": Case(
        F.scaled_dot_product_attention, ((1, 2, 70, 32), (1, 2, 197, 32), (1, 2, 197, 32))
    ),
    "arcs": Case(lambda x: torch.atan(x) + torch.asin(x / 9) * torch.acos(x.tanh()) + x.tan(), MATRIX),
    "avg_pool": Case(nn.AvgPool2d(3, 2), IMAGE),
    "avg_pool_padded": Case(nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), IMAGE),
    "avg_pool_ceil": Case(nn.AvgPool2d(2, ceil_mode=True), IMAGE),
    "batch_norm": Case(norm(nn.BatchNorm2d, 6), IMAGE),
    "bmm": Case(torch.bmm, ((3, 5, 8), (3, 8, 4))),
    "bmm_transposed": Case(lambda a, b: a @ b.transpose(1, 2), ((3, 5, 8), (3, 4, 8))),
    "bmm_vector": Case(torch.bmm, ((3, 37, 21), (3, 21, 1))),
    "bmm_vector_of_matrix": Case(lambda a, b: a @ b[..., 1:2], ((3, 37, 21), (3, 21, 4))),
    "bmm_vector_of_transposed": Case(lambda a, b: a.transpose(1, 2) @ b, ((3, 21, 37), (3, 21, 1))),
    "matrix_times_vector": Case(torch.mv, ((37, 21), (21,))),
    "vector_times_columns": Case(lambda a, b: (a * b[:, None]).sum(0), ((21, 37), (21,))),
    "sums_of_pairs": Case(lambda a, b: (a[:, :, None] * b[:, None]).sum(-1), ((3, 5, 8), (3, 4, 8))),
    "sums_over_a_middle_dimension": Case(lambda a, b: (a * b).sum(2), ((2, 9, 4, 1), (1, 1, 4, 6))),
    "sums_of_broadcast_rows": Case(lambda a, b: (a * b).sum(1, keepdim=True), ((3, 7, 5), (3, 7, 1))),
    "few_sums_of_products": Case(lambda a, b: (a * b).sum(-1), ((3, 2, 8), (3, 1, 8))),
    "affine_grid": Case(lambda t: F.affine_grid(t, [2, 3, 5, 7], align_corners=False), ((2, 2, 3),)),
    "bmm_row": Case(torch.bmm, ((3, 1, 21), (3, 21, 70))),
    "bmm_rows_transposed": Case(lambda a, b: a @ b.transpose(1, 2), ((3, 8, 21), (3, 70, 21))),
    "broadcast": Case(lambda a, b: a * b + a, ((2, 1, 7), (3, 1, 5, 7))),
    "cat": Case(lambda a, b: torch.cat([a - b[:, :1], b, a * 2], 1), ((2, 6, 9, 7), (2, 4, 9, 7))),
    "cat_rows": Case(lambda a, b: torch.cat([a * 2, b], 0) + 1, ((2, 6), (3, 6))),
    "chain_channels": Case(
        nn.Sequential(
            nn.Conv2d(6, 20, 1),
            Function(lambda x: (x * x.mean((2, 3), True) + x.amax(1, True)) * x[:, :, :1, :1]),
        ),
        ((2, 6, 19, 9),),
    ),
    "chain": Case(lambda x: torch.tanh(x * 2 + 1) * torch.sigmoid(x) - x.abs() / 3, MATRIX),
    "chain_long": Case(lambda x: sum((torch.asinh(x) * i + x for i in range(12)), x), MATRIX),
    "clamp": Case(lambda x: torch.clamp(x, -0.5, 0.25) * torch.clamp(x, min=0.1), MATRIX),
    "clamp_tensors": Case(
        lambda x, low, high: torch.clamp(x * 2, low, high) + torch.clamp(x, min=low), (*MATRIX, (8,), (5, 1))
    ),
    "conv": Case(nn.Conv2d(6, 8, 3, stride=2, padding=1), IMAGE),
    "conv_1d": Case(nn.Conv1d(6, 8, 3, stride=2, padding=1), ((2, 6, 11),)),
    "conv_1d_depthwise": Case(nn.Conv1d(6, 6, 5, padding=2, groups=6), ((2, 6, 30),)),
    "conv_5": Case(nn.Conv2d(8, 19, 5, padding=2, bias=False), ((1, 8, 12, 11),)),
    "conv_deep": Case(  # summed a few taps at a time
        nn.Sequential(nn.Conv2d(700, 20, (5, 1), padding=(2, 0), bias=False), nn.ReLU()), ((2, 700, 9, 5),)
    ),
    "conv_7": Case(nn.Conv2d(3, 24, 7, stride=2, padding=3), ((1, 3, 32, 30),)),
    "conv_first": Case(nn.Conv2d(3, 40, 3, 2, padding=1), ((2, 3, 61, 90),)),
    "conv_first_dilated": Case(
        nn.Sequential(nn.Conv2d(2, 7, (3, 5), (1, 3), (2, 7), (2, 3)), nn.ReLU()), ((1, 2, 9, 140),)
    ),
    "conv_first_transposed": Case(
        lambda x, w: F.conv2d(x.transpose(2, 3), torch.ones(5, 3, 3, 3)) * w, ((1, 3, 50, 9), (5, 1, 1))
    ),
    "conv_dilated": Case(nn.Conv2d(6, 8, 3, padding=2, dilation=2), IMAGE),
    "hyperbolic": Case(lambda x: torch.sinh(x) - torch.cosh(x) * torch.atanh(x / 9), MATRIX),
    "index_constant": Case(lambda x: x[:, torch.tensor([[3, -1], [0, 2]])] * 2, ROWS),
    "isnan": Case(lambda x: torch.where(torch.isnan(x.log()), x, x * 2), MATRIX),
    "log_softmax_across": Case(lambda x: (x * 2).log_softmax(1), ROWS),
    "mean_all": Case(lambda x: x.mean() * x, ROWS),
    "powers": Case(lambda x: x**4 + x**0.75 * x**1.5, MATRIX, is_positive=True),
    "repeat": Case(lambda x: torch.relu(x).repeat(2, 1, 3, 1) * 2, ROWS),
    "repeat_pixel": Case(lambda x: x.mean((2, 3), True).repeat(1, 1, 3, 4) * 2, IMAGE),
    "resize_exact": Case(lambda x: F.interpolate(x * 2, scale_factor=(2, 3), mode="nearest-exact"), IMAGE),
    "resize_rows": Case(lambda x: F.interpolate(x * 2, scale_factor=1.7, mode="linear"), ROWS),
    "resize_volume": Case(lambda x: F.interpolate(x * 2, scale_factor=2, mode="trilinear") + 1, VOLUME),
    "resize_volume_corners": Case(
        lambda x: F.interpolate(x * 2, (5, 4, 8), mode="trilinear", align_corners=True) + 1, VOLUME
    ),
    "resize_volume_nearest": Case(lambda x: F.interpolate(x * 2, (5, 4, 8)) + 1, VOLUME),
    "softmax_across": Case(lambda x: (x * 2).softmax(1), ROWS),
    "conv_depthwise": Case(nn.Conv2d(6, 6, 3, padding=1, groups=6), IMAGE),
    "conv_depthwise_5": Case(nn.Conv2d(40, 40, 5, 2, padding=2, groups=40), ((1, 40, 14, 14),)),
    "conv_depthwise_7": Case(nn.Conv2d(20, 20, 7, padding=3, groups=20), ((1, 20, 14, 14),)),
    "conv_depthwise_5_pairs": Case(nn.Conv2d(20, 20, 5, padding=2, groups=20), ((1, 20, 9, 11),)),
    "conv_depthwise_7_pairs": Case(nn.Conv2d(9, 9, 7, padding=3, groups=9), ((2, 9, 15, 8),)),
    "conv_depthwise_strided": Case(nn.Conv2d(20, 20, 3, 2, padding=1, groups=20), ((2, 20, 17, 15),)),
    "conv_depthwise_7_strided": Case(nn.Conv2d(9, 9, 7, 2, padding=3, groups=9), ((1, 9, 15, 13),)),
    "conv_depthwise_parts": Case(nn.Conv2d(70, 70, 3, padding=1, groups=70), ((1, 70, 9, 60),)),
    "conv_depthwise_dilated": Case(nn.Conv2d(6, 6, 3, groups=6, dilation=2), IMAGE),
    "conv_depthwise_tall": Case(nn.Conv2d(6, 6, (3, 1), (2, 1), (1, 0), groups=6), IMAGE),
    "conv_depthwise_long": Case(nn.Conv2d(6, 6, (65, 1), padding=(32, 0), groups=6), ((1, 6, 40, 3),)),
    "conv_depthwise_wide": Case(nn.Conv2d(6, 6, (1, 70), padding=(0, 35), groups=6), ((1, 6, 3, 40),)),
    "conv_1d_depthwise_wide": Case(  # divided by columns, with what dilation reaches of both sides
        nn.Conv1d(72, 72, 3, padding=40, dilation=40, groups=72), ((1, 72, 2001),)
    ),
    "conv_1d_depthwise_long": Case(nn.Conv1d(6, 6, 301, padding=150, groups=6), ((1, 6, 200),)),
    "conv_depthwise_few": Case(nn.Conv2d(6, 6, 7, padding=6, groups=6), ((1, 6, 2, 3),)),
    "conv_grouped": Case(nn.Conv2d(6, 4, (3, 1), groups=2), IMAGE),
    "conv_multiplied": Case(nn.Conv2d(6, 12, 3, groups=6), IMAGE),
    "conv_norm_relu": Case(nn.Sequential(nn.Conv2d(6, 8, 3), norm(nn.BatchNorm2d, 8), nn.ReLU()), IMAGE),
    "conv_gelu": Case(nn.Sequential(nn.Conv2d(6, 8, 2, 2), nn.GELU()), IMAGE),
    "conv_pointwise": Case(nn.Conv2d(32, 40, 1), WIDE),
    "conv_pointwise_stride": Case(nn.Conv2d(32, 40, 1, 2), WIDE),
    "conv_transposed": Case(nn.ConvTranspose2d(6, 4, 2, 2), IMAGE),
    "conv_transposed_1d": Case(nn.ConvTranspose1d(6, 1, 16, 8, bias=False), ((2, 6, 11),)),
    "conv_transposed_1d_gelu": Case(
        nn.Sequential(nn.ConvTranspose1d(6, 5, 8, 4, padding=2), nn.GELU()), ((1, 6, 13),)
    ),
    "conv_transposed_1d_norm": Case(
        nn.Sequential(nn.ConvTranspose1d(6, 5, 4, 4), norm(nn.BatchNorm1d, 5), nn.ReLU()), ((1, 6, 13),)
    ),
    "conv_transposed_4": Case(
        nn.Sequential(nn.ConvTranspose2d(16, 24, 4, 2, padding=1), norm(nn.BatchNorm2d, 24)),
        ((2, 16, 9, 40),),
    ),
    "conv_transposed_odd": Case(nn.ConvTranspose2d(6, 4, (3, 5), (3, 2), (1, 0), (2, 1)), IMAGE),
    "conv_transposed_gaps": Case(nn.ConvTranspose2d(6, 4, 2, 3, output_padding=1), IMAGE),
    "conv_transposed_cut": Case(nn.ConvTranspose2d(6, 4, 3, 2, padding=2), IMAGE),
    "conv_transposed_plain": Case(nn.ConvTranspose2d(32, 32, 3, padding=1), WIDE, tolerance=1e-5),
    "conv_transposed_grouped": Case(nn.ConvTranspose2d(6, 4, 4, 2, padding=1, groups=2), IMAGE),
    "conv_transposed_depthwise": Case(nn.ConvTranspose2d(6, 6, 3, 2, padding=1, groups=6), IMAGE),
    "conv_transposed_planes": Case(nn.ConvTranspose2d(3, 8, 4, 2, 1), ((2, 3, 9, 40),)),
    "conv_winograd": Case(nn.Conv2d(32, 48, 3, padding=1), ((2, 32, 28, 30),), tolerance=1e-5),
    "conv_winograd_relu": Case(
        nn.Sequential(nn.Conv2d(32, 48, 3, padding=1), nn.ReLU()), ((1, 32, 27, 29),), tolerance=1e-5
    ),
    "conv_winograd_3": Case(nn.Conv2d(32, 40, 3, padding=1), ((3, 32, 9, 14),), tolerance=4e-6),
    "conv_winograd_apart": Case(
        nn.Sequential(nn.Conv2d(64, 72, 3, 2, padding=1), nn.ReLU()), ((2, 64, 28, 30),)
    ),
    "conv_winograd_apart_odd": Case(nn.Conv2d(36, 44, 3, 2, padding=(2, 0)), ((1, 36, 37, 43),)),
    "div": Case(lambda a, b: a / b / 3, ((5, 8), (5, 1)), is_positive=True),
    "elementwise": Case(
        lambda x: torch.exp(x) + F.hardswish(x) + F.hardsigmoid(x) + F.silu(x) + torch.erf(x), MATRIX
    ),
    "elu": Case(lambda x: F.elu(x, 0.7) + F.elu(x / 1000), ROWS),
    "elu_of_few": Case(lambda x: F.elu(x * 1e-4) - F.selu(x * 1e-4), ROWS),
    "selu": Case(lambda x: F.selu(x) * x, ROWS),
    "embedded": Case(Embedded(), IMAGE),
    "expand": Case(lambda x: (x + 1)[:, None].expand(5, 3, 8) * 2, MATRIX),
    "angles": Case(lambda x: torch.sin(30 * x) + torch.cos(x) * 2, MATRIX),
    "angles_of_linear": Case(nn.Sequential(nn.Linear(8, 20), Sine(), nn.Linear(20, 3)), MATRIX),
    "logarithms": Case(lambda x: torch.log1p(x) * torch.log2(x) + torch.log10(x), ROWS, is_positive=True),
    "logsumexp": Case(lambda x: torch.logsumexp(x * 2, -1) + torch.logsumexp(x, 0).sum(), MATRIX),
    "mish_of_linear": Case(nn.Sequential(nn.Linear(8, 20), nn.Mish(), nn.Linear(20, 3)), MATRIX),
    "mish_of_convolution": Case(nn.Sequential(nn.Conv2d(6, 8, 3), nn.Mish()), IMAGE),
    "roundings": Case(
        lambda x: (
            torch.floor(x * 3) + torch.ceil(x) * torch.round(x * 5) - torch.trunc(x * 2) * torch.sign(x)
        ),
        ROWS,
    ),
    "softplus": Case(lambda x: F.softplus(x * 3) + F.softplus(x, 2.0, 1.0) * F.logsigmoid(x), ROWS),
    "softplus_of_linear": Case(nn.Sequential(nn.Linear(8, 20), nn.Softplus(2.0), nn.Linear(20, 3)), MATRIX),
    "elu_of_linear": Case(nn.Sequential(nn.Linear(8, 20), nn.ELU(0.7), nn.Linear(20, 3)), MATRIX),
    "atan2": Case(lambda x: torch.atan2(x * 2, x[:1] + 1) * torch.atan2(x[:1], x), ROWS),
    "celu": Case(lambda x: F.celu(x * 2, 1.5) + torch.expm1(x), ROWS),
    "frac": Case(lambda x: torch.frac(x * 4) + 1, ROWS),
    "gelu": Case(lambda x: F.gelu(x) - F.gelu(-x), ROWS),
    "gelu_tanh": Case(lambda x: F.gelu(x, approximate="tanh") * x, ROWS),
    "group_norm": Case(nn.GroupNorm(3, 6), IMAGE),
    "instance_norm": Case(nn.InstanceNorm2d(6), IMAGE),
    "instance_norm_after_conv": Case(
        nn.Sequential(nn.Conv2d(6, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.ReLU()), IMAGE
    ),
    "instance_norm_rows": Case(nn.InstanceNorm1d(6, affine=True), ((2, 6, 9),)),
    "group_norm_plain": Case(nn.GroupNorm(2, 6, affine=False), ((2, 6, 9),)),
    "group_norm_after_conv": Case(
        nn.Sequential(nn.Conv2d(6, 8, 3), nn.GroupNorm(4, 8), nn.SiLU(), nn.Conv2d(8, 4, 1)), IMAGE
    ),
    "group_norm_rows": Case(
        nn.Sequential(nn.Conv1d(6, 40, 5, 2), nn.GroupNorm(8, 40), nn.GELU(), nn.Conv1d(40, 8, 1), nn.GLU(1)),
        ((2, 6, 901),),
    ),
    "group_norm_instances": Case(
        nn.Sequential(nn.Conv2d(6, 300, 1), nn.GroupNorm(300, 300, affine=False)),
        ((2, 6, 19, 7),),
        tolerance=1e-5,
    ),
    "group_norm_far": Case(
        nn.Sequential(nn.Conv1d(6, 12, 1), Function(lambda x: x + 100), nn.GroupNorm(3, 12)),
        ((1, 6, 5000),),
        tolerance=1e-4,
    ),
    "resample_nearest": Case(
        nn.Sequential(nn.Conv2d(6, 8, 1), nn.Upsample(scale_factor=2), nn.Conv2d(8, 4, 3)), IMAGE
    ),
    "resample_nearest_size": Case(lambda x: F.interpolate(x * 2, (5, 16)) + F.interpolate(x, (5, 16)), IMAGE),
    "resample_nearest_factor": Case(lambda x: F.interpolate(x, scale_factor=(1.7, 0.6)) * 2, IMAGE),
    "resample_nearest_same_size": Case(
        lambda x: F.interpolate(x, scale_factor=(1.3, 2.2)) * 2, ((1, 8, 2, 2),)
    ),
    "resample_bilinear_same_size": Case(
        lambda x: F.interpolate(x, scale_factor=(1.3, 2.2), mode="bilinear") * 2, ((1, 8, 2, 2),)
    ),
    "resample_rows_same_size": Case(lambda x: F.interpolate(x, scale_factor=1.3) * 2, ((2, 6, 2),)),
    "resample_rows": Case(lambda x: F.interpolate(x, scale_factor=3.0) * 2, ((2, 6, 11),)),
    "resample_bilinear_of_infinity": Case(  # the width is copied, so that no other column becomes NaN
        lambda x: F.interpolate(x.masked_fill(x > 1.5, float("inf")), (5, 7), mode="bilinear"),
        ((1, 8, 3, 7),),
    ),
    "resample_bilinear": Case(
        nn.Sequential(nn.Conv2d(6, 8, 1), nn.Upsample(scale_factor=2, mode="bilinear"), nn.ReLU()), IMAGE
    ),
    "resample_bilinear_factor": Case(
        lambda x: F.interpolate(x, scale_factor=(1.7, 0.6), mode="bilinear") * 2, IMAGE
    ),
    "resample_bicubic": Case(
        nn.Sequential(nn.Conv2d(6, 8, 1), nn.Upsample(scale_factor=2, mode="bicubic"), nn.ReLU()), IMAGE
    ),
    "resample_bicubic_factor": Case(
        lambda x: F.interpolate(x, scale_factor=(1.7, 0.6), mode="bicubic") * 2, IMAGE
    ),
    "resample_bicubic_size": Case(lambda x: F.interpolate(x, (5, 40), mode="bicubic") * 2, IMAGE),
    "resample_bicubic_same_size": Case(
        lambda x: F.interpolate(x, scale_factor=(1.3, 2.2), mode="bicubic") * 2, ((1, 8, 2, 2),)
    ),
    "resample_bicubic_corners": Case(
        lambda x: F.interpolate(x, (20, 1), mode="bicubic", align_corners=True) * 2, IMAGE
    ),
    "resample_bilinear_corners": Case(
        lambda x: F.interpolate(x, (20, 1), mode="bilinear", align_corners=True) * 2, IMAGE
    ),
    "roll": Case(lambda x: torch.roll(x * 2, (2, -3), (1, 2)) + 1, IMAGE),
    "roll_twice": Case(lambda x: torch.roll(x * 2, (2, 1, 4), (1, 0, 1)) + 1, ROWS),
    "images_both_ways": Case(
        nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), Function(lambda x: (x, x.flatten(1)))), IMAGE
    ),
    "inverted_bottleneck": Case(Inverted(16, 48), ((1, 16, 14, 14),)),
    "inverted_bottleneck_5": Case(Inverted(24, 72, 5), ((2, 24, 7, 9),)),
    "layer_norm": Case(nn.LayerNorm(24), ROWS),
    "layer_norm_two": Case(nn.LayerNorm((5, 24), elementwise_affine=False), ROWS),
    "leaky_relu": Case(lambda x: F.leaky_relu(x, 0.2) + x, MATRIX),
    "linear": Case(nn.Linear(24, 37), ROWS),
    "linear_gelu": Case(nn.Sequential(nn.Linear(24, 96), nn.GELU(), nn.Linear(96, 24)), ROWS),
    "linear_one_row": Case(nn.Linear(24, 150), ((1, 24),)),
    "linear_residual": Case(nn.Sequential(nn.Linear(24, 24), Function(lambda x: x + 1)), ROWS),
    "linear_vector": Case(nn.Linear(24, 5), ((24,),)),
    "linear_deep": Case(nn.Linear(3000, 20), ((7, 3000),)),
    "log": Case(lambda x: torch.log(x) + x, MATRIX, is_positive=True),
    "log_softmax": Case(lambda x: torch.log_softmax(x, 1), ROWS),
    "lstm": Case(nn.LSTM(8, 16, 2, batch_first=True), ((2, 6, 8),)),
    "matmul_broadcast": Case(torch.matmul, ((2, 3, 5, 8), (8, 4))),
    "max_pool": Case(nn.MaxPool2d(3, 2, padding=1), IMAGE),
    "max_pool_ceil": Case(nn.MaxPool2d(2, ceil_mode=True), IMAGE),
    "max_pool_dilated": Case(nn.MaxPool2d(2, 1, dilation=2), IMAGE),
    "mean": Case(lambda x: x.mean((2, 3)), IMAGE),
    "mean_kept": Case(lambda x: x.mean(-1, keepdim=True), ROWS),
    "extremes": Case(lambda x: x.amax(1) - x.amin((1,)), ROWS),
    "minimum_maximum": Case(lambda a, b: torch.minimum(a, b) * torch.maximum(a, b), ((5, 8), (1, 8))),
    "pad": Case(lambda x: F.pad(x * 2, (1, 2, 0, 3), value=0.5) + 1, MATRIX),
    "pad_negative": Case(
        lambda x: (F.pad(x * 2, (0, 0, 1, -1)), F.pad(x, (-2, 1, -1, 0), value=2.0) * 2), MATRIX
    ),
    "crop": Case(lambda x: F.pad(x * 2, (-1, -2)) + 1, MATRIX),
    "pad_image": Case(nn.Sequential(nn.Conv2d(6, 5, 1), nn.ZeroPad2d((1, 2, 3, 0))), IMAGE),
    "permute": Case(lambda x: (x * 2).permute(0, 3, 1, 2) + 1, IMAGE),
    "index_copy": Case(
        lambda x, y: torch.index_copy(x * 2, 1, torch.tensor([3, 0]), y), ((2, 5, 4), (2, 2, 4))
    ),
    "prelu": Case(nn.Sequential(nn.PReLU(), nn.PReLU(init=2.0)), IMAGE),
    "prelu_channels": Case(lambda x: F.prelu(x, torch.linspace(-1, 2, 6)) + x, IMAGE),
    "prelu_conv": Case(nn.Sequential(nn.Conv1d(6, 6, 1), nn.PReLU(), nn.Conv1d(6, 6, 3)), ((2, 6, 9),)),
    "pixel_shuffle": Case(nn.Sequential(nn.Conv2d(6, 12, 1), nn.PixelShuffle(2)), IMAGE),
    "pow": Case(lambda x: x**3 + x**2 + x**-1, MATRIX, is_positive=True),
    "relu6": Case(lambda x: F.relu6(x * 9), MATRIX),
    "residual": Case(Residual(16), ((1, 16, 12, 12),), tolerance=1e-5),
    "residual_projected": Case(Residual(16, project=True), ((1, 16, 12, 12),), tolerance=1e-5),
    "rms_norm": Case(nn.RMSNorm(24), ROWS),
    "rsub": Case(lambda x: 1 - torch.relu(x), MATRIX),
    "shuffle": Case(nn.Sequential(nn.Conv2d(6, 8, 1), nn.ChannelShuffle(2), nn.Conv2d(8, 4, 1)), IMAGE),
    "slice": Case(lambda x: (x + 1)[:, 1:-1, ::2] * 2, IMAGE),
    "softmax": Case(lambda x: torch.softmax(x, -1), ROWS),
    "softmax_channels": Case(lambda x: torch.softmax(x, 1), IMAGE),
    "split": Case(lambda x: [p + 1 for p in x.split(3, 1)], IMAGE),
    "sqrt": Case(lambda x: torch.sqrt(x) + torch.rsqrt(x) + torch.reciprocal(x), MATRIX, is_positive=True),
    "sub": Case(lambda a, b: torch.sub(a, b, alpha=2) - 0.5, ((5, 8), (8,))),
    "sum": Case(lambda x: x.sum((0, 2)), ROWS),
    "swish_product": Case(lambda x: F.silu(x[..., :12]) * x[..., 12:], ROWS),
    "view": Case(lambda x: (x + 1).reshape(2, -1, 7) * 2, IMAGE),
    "windows": Case(
        lambda x: (x + 1).view(2, 6, 2, 4, 2, 4).permute(0, 2, 4, 3, 5, 1).reshape(8, 16, 6) * 2,
        ((2, 6, 8, 8),),
    ),
}

# Operators that plans do not support. Kernels run them.
OUTSIDE = {"chain_long": {"asinh"}}


def inputs_of(case: Case) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    tensors = (torch.randn(shape) for shape in case.shapes)
    return tuple(tensor.abs() + 0.5 if case.is_positive else tensor for tensor in tensors)


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    case = CASES[name]
    inputs = inputs_of(case)
    program, outside = lower(case.function, inputs)
    assert {op.split(".")[1] for op in outside} == OUTSIDE.get(name, set())
    assert_close(run(program, inputs), expected(case.function, inputs), case.tolerance)


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_rows_are_chosen_by_indices_that_may_count_from_the_end(shape: tuple[int, ...]) -> None:
    def choose(table: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return (table * 2)[places] + 1

    inputs = (torch.randn(5, 2, 3), torch.tensor([4, -1, 0, -5][: torch.Size(shape).numel()]).view(shape))
    program, outside = lower(choose, inputs)
    assert not outside
    assert_close(run(program, inputs), expected(choose, inputs))


def test_prelu_with_a_slope_for_each_channel_is_one_chain() -> None:
    inputs = inputs_of(CASES["prelu_channels"])
    program, _ = lower(CASES["prelu_channels"].function, inputs)
    assert kinds(program) == [Elementwise]


@pytest.mark.parametrize("operator", [torch.sum, torch.mean, torch.amax, torch.amin])
def test_reductions_over_expanded_dimensions(operator: Any) -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            row = torch.exp(x * 2).mean(0, keepdim=True)
            return operator(row.expand(5, 6), dim=(0, 1)), operator(row[:, :1].expand(1, 7), dim=-1)

    model, x = Net(), torch.randn(4, 6)
    program = rushlight.load(rushlight.compile(model, (x,)).buffer)
    for got, want in zip(program(x), model(x), strict=True):
        torch.testing.assert_close(got, want)
