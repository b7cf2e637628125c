"""Compares an optimized kernel with eager PyTorch in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from rushlight.runtime import call_kernel


def run(
    name: str, args: Sequence[Any], outs: Sequence[torch.Tensor], *, threads: int
) -> tuple[torch.Tensor, ...]:
    """Runs the kernel with outs that contain other values, and returns them.

    Their shapes are those of `outs`.
    """
    written = []
    for out in outs:
        like = torch.empty_strided(out.shape, out.stride(), dtype=out.dtype)
        written.append(
            like.fill_(float("nan") if out.is_floating_point() else 77 if out.dtype != torch.bool else 1)
        )
    call_kernel(name, [*args, *written], library="optimized", threads=threads)
    return tuple(written)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


def check(
    name: str,
    args: Sequence[Any],
    *expected: torch.Tensor,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Compares runs with one and two threads, and requires the same bits in a second run."""
    outs = [e.to(dtype) if e.is_floating_point() else e for e in expected]
    for threads in (1, 2):
        got = run(name, args, outs, threads=threads)
        for actual, want in zip(got, outs, strict=True):
            torch.testing.assert_close(actual, want, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)
        again = run(name, args, outs, threads=threads)
        for first, second in zip(got, again, strict=True):
            assert torch.equal(bits(first), bits(second))
