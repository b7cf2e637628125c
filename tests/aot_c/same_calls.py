"""Compares calls of operators in C with the portable kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from tests.aot_c.harness import Library, assert_same_bits, compile_library, compilers
from tests.aot_c.one_call import Call, CallProgram, tensors_of

from rushlight.aot_c.program import CProgram, c_program
from rushlight.runtime import call_kernel


def permuted(x: torch.Tensor, *order: int) -> torch.Tensor:
    """Returns an equal tensor whose dims are stored in another order, from the outermost to the innermost."""
    stored = x.permute(order).contiguous()
    return stored.permute([order.index(axis) for axis in range(len(order))])


def program_of(calls: Sequence[Call]) -> CProgram:
    """Returns the C program of calls."""
    program = CallProgram()
    for call in calls:
        program.add(call.name, call.arguments, call.outs)
    return c_program(program.bytes(), "model")


def check_calls(
    calls: Sequence[Call], folder: Path, compiler: str = "", flags: Sequence[str] = ("-O1",)
) -> None:
    """Requires that each call in C computes the same bits as the portable kernel.

    `compiler` is a name of compilers(), by default the first.
    """
    text = program_of(calls)
    library = Library(
        compile_library(text, "model", folder, compiler or next(iter(compilers())), flags), text
    )
    for index, call in enumerate(calls):
        given = [item.clone() if isinstance(item, torch.Tensor) else item for item in call.arguments]
        shapes = call_kernel(call.name, [*call.arguments, *call.outs], "portable")
        for out, shape in zip(call.outs, shapes[-len(call.outs) :], strict=True):
            assert tuple(out.shape) == tuple(shape), call  # type: ignore[arg-type]
        assert_same_bits(library(f"call_{index}", *tensors_of(given)), call.outs, call)
