"""Compares kernels with eager PyTorch. A case has arguments; the reference is the functional overload."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from rushlight.runtime import call_kernel

FLOATS = (torch.float32, torch.float64)
FLOAT16_TYPES = (torch.float16, torch.bfloat16)
INTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
BOOL = (torch.bool,)
COMPLEX = (torch.complex64, torch.complex128)
REAL = FLOATS + FLOAT16_TYPES + INTS + BOOL

# rtol and atol for results that may differ from eager PyTorch in the order of sums and in the math library.
TOLERANCE = {
    torch.float64: (1e-10, 1e-10),
    torch.float32: (2e-5, 2e-6),
    torch.float16: (2e-3, 1e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.complex32: (2e-3, 4e-3),
    torch.complex64: (2e-5, 2e-5),
    torch.complex128: (1e-10, 1e-10),
}


class Case:
    """Arguments of an operator, in the order of its schema, without the outs.

    Missing arguments have the default of the schema.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        def show(value: Any) -> str:
            if isinstance(value, torch.Tensor):
                return f"{str(value.dtype)[6:]}{list(value.shape)}"
            return repr(value)

        parts = [show(a) for a in self.args] + [f"{k}={show(v)}" for k, v in self.kwargs.items()]
        return f"Case({', '.join(parts)})"

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Case:
        """Returns the case with `change` applied to every tensor argument."""

        def one(value: Any) -> Any:
            return change(value) if isinstance(value, torch.Tensor) else value

        return Case(*map(one, self.args), **{k: one(v) for k, v in self.kwargs.items()})


@dataclasses.dataclass(frozen=True)
class Operator:
    """The out overload of a kernel, and its functional overload."""

    name: str
    inputs: tuple[torch._C.Argument, ...]
    outs: int
    functional: Callable[..., Any]


def _is_out(argument: torch._C.Argument) -> bool:
    return bool(argument.is_out)


@functools.cache
def operator(name: str) -> Operator:
    """Returns the operator with a name such as "aten::add.out", and its functional overload."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base)
    out_overload = getattr(packet, overload or "default")
    arguments = out_overload._schema.arguments
    inputs = tuple(a for a in arguments if not _is_out(a))
    outs = len(arguments) - len(inputs)
    if outs == 0:
        return Operator(name, inputs, 0, out_overload)
    wanted = {a.name: str(a.type) for a in inputs}
    best = None
    for candidate in packet.overloads():
        functional = getattr(packet, candidate)
        schema = functional._schema
        if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
            continue
        given = {a.name: str(a.type) for a in schema.arguments}
        extra = {a.name for a in schema.arguments if not a.has_default_value()} - wanted.keys()
        if wanted.items() <= given.items() and not extra and (best is None or len(given) < best[1]):
            best = functional, len(given)
    assert best is not None, f"{name} has no functional overload"
    return Operator(name, inputs, outs, best[0])


def _arguments(op: Operator, case: Case) -> list[Any]:
    values = list(case.args)
    for argument in op.inputs[len(values) :]:
        if argument.name in case.kwargs:
            values.append(case.kwargs[argument.name])
        else:
            assert argument.has_default_value(), f"{op.name} needs {argument.name}"
            values.append(argument.default_value)
    return values


def expected(name: str, case: Case) -> list[torch.Tensor]:
    """Returns the results of eager PyTorch."""
    op = operator(name)
    names = [a.name for a in op.inputs]
    positional = [a for a in op.inputs if not a.kwarg_only]
    split = min(len(case.args), len(positional))
    kwargs = dict(zip(names[split:], case.args[split:], strict=False)) | case.kwargs
    result = op.functional(*case.args[:split], **kwargs)
    return [result] if isinstance(result, torch.Tensor) else list(result)


def compute(
    name: str,
    case: Case,
    outs: Sequence[torch.Tensor],
    library: str | None = "portable",
) -> list[torch.Tensor]:
    """Runs the kernel with `outs`, and returns them with the shapes that the kernel set."""
    op = operator(name)
    shapes = call_kernel(name, [*_arguments(op, case), *outs], library)  # type: ignore[arg-type]
    results = []
    for out, shape in zip(outs, shapes[-len(outs) :], strict=True):
        numel = int(torch.Size(shape).numel())  # type: ignore[arg-type]
        same = tuple(out.shape) == tuple(shape)  # type: ignore[arg-type]
        results.append(out if same else out.flatten()[:numel].view(shape))  # type: ignore[arg-type]
    return results


def blank(like: torch.Tensor) -> torch.Tensor:
    """Returns a tensor with the same dtype, shape and layout, whose values the kernel must overwrite."""
    return torch.empty_like(like).fill_(77 if like.dtype != torch.bool else True)


def assert_same(
    got: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor], what: object, **tolerance: float
) -> None:
    assert len(got) == len(wanted), what
    for actual, reference in zip(got, wanted, strict=True):
        rtol, atol = TOLERANCE.get(reference.dtype, (0.0, 0.0))
        torch.testing.assert_close(
            actual,
            reference,
            rtol=tolerance.get("rtol", rtol),
            atol=tolerance.get("atol", atol),
            equal_nan=True,
            check_stride=False,
            msg=lambda text: f"{what}\n{text}",
        )


def check(name: str, case: Case, library: str | None = "portable", **tolerance: float) -> None:
    """Requires that the results of the kernel agree with eager PyTorch in dtype, shape and values."""
    wanted = expected(name, case)
    outs = [blank(w) for w in wanted]
    assert_same(compute(name, case, outs, library), wanted, f"{name} {case}", **tolerance)
