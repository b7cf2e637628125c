"""Compares the results of torch's kernels with those of the native kernels, for each kernel call of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from rushlight.ir.text_table import text_table
from rushlight.runtime.aten.events import InstructionEvent
from rushlight.runtime.errors import RushlightError
from rushlight.runtime.kernels import call_kernel, kernel_names


@dataclass(frozen=True)
class ComparedStep:
    """An instruction, and the difference between the native kernel and torch's kernel on the same inputs.

    Attributes:
        event: the instruction with its values.
        difference: the largest absolute difference of all results, or None if nothing was compared. Two NaNs
            are equal, and so are two equal infinities.
        scale: the largest finite absolute value of torch's results.
        note: the reason why nothing was compared, or the error of the native kernel.
    """

    event: InstructionEvent
    difference: float | None
    scale: float = 0.0
    note: str = ""


class NativeComparison:
    """A hook that runs each kernel call again in the native runtime, on the inputs of torch's kernel.

    The inputs of each step are torch's values, so that errors do not propagate: the table shows the step that
    causes an error. Operators that use random numbers always differ.

    Args:
        library: the kernel library (see `call_kernel`); None means the kernels that a program would use.

    Attributes:
        steps: the compared instructions, in order.
    """

    def __init__(self, library: str | None = None) -> None:
        self.library = library
        self.steps: list[ComparedStep] = []
        self._names = set(kernel_names(library))

    def __call__(self, event: InstructionEvent) -> None:
        """Compares one instruction and appends the result to `steps`."""
        self.steps.append(self._compare(event))

    def worst(self) -> ComparedStep | None:
        """Returns the step with the largest relative difference, or None.

        The relative difference is the difference divided by the scale. A scale below 1e-6 counts as 1e-6.
        """
        compared = [step for step in self.steps if step.difference is not None]
        return max(compared, key=_relative, default=None)

    def table(self) -> str:
        """Returns a table as text.

        It has the position, operator, results, difference and source line of each step.
        """
        head = ("step", "instruction", "writes", "difference", "source")
        rows: list[tuple[str, ...]] = []
        for step in self.steps:
            event = step.event
            difference = "-" if step.difference is None else f"{step.difference:.3g}"
            last = step.note or (event.source or "")
            writes = ", ".join(_text(value) for value in event.outputs)
            rows.append((f"{event.chain}.{event.index}", event.name, writes, difference, last))
        return text_table(head, rows)

    def _compare(self, event: InstructionEvent) -> ComparedStep:
        if event.kind != "kernel" or event.name.startswith("executorch_prim::et_view"):
            return ComparedStep(event, None)
        name = event.name
        if name not in self._names:
            return ComparedStep(event, None, note="no native kernel")
        inputs = [_copy(value) for value in event.inputs]
        if event.written_inputs:
            results = [inputs[index] for index in event.written_inputs]
            arguments = inputs
        else:
            results = [_zeros_like(value) for value in event.outputs]
            arguments = [*inputs, *results]
        try:
            written = call_kernel(name, arguments, self.library)
        except RushlightError as error:
            return ComparedStep(event, None, note=str(error))
        pairs: list[tuple[Any, Any]] = []
        for result, expected, shape in zip(results, event.outputs, written, strict=False):
            if isinstance(expected, list):
                pairs += zip(result, expected, strict=True)
            elif isinstance(expected, torch.Tensor):
                if not event.written_inputs and tuple(expected.shape) != shape:
                    note = f"the result of the native kernel has the shape {list(_shape(shape))}"
                    return ComparedStep(event, float("inf"), note=note)
                pairs.append((result, expected))
            else:
                pairs.append((torch.tensor(shape), torch.tensor(expected)))
        differences = [_difference(result, expected) for result, expected in pairs]
        return ComparedStep(
            event, max(differences, default=0.0), max((_scale(wanted) for _, wanted in pairs), default=0.0)
        )


def _relative(step: ComparedStep) -> float:
    assert step.difference is not None
    return step.difference / max(step.scale, 1e-6)


def _shape(written: object) -> tuple[object, ...]:
    return written if isinstance(written, tuple) else ()


def _copy(value: object) -> Any:
    # Kernels support only tensors that are dense in some dim order.
    if isinstance(value, torch.Tensor):
        copied = value.clone(memory_format=torch.preserve_format)
        return copied if copied.is_contiguous() or copied.stride() == value.stride() else copied.contiguous()
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _zeros_like(value: Any) -> Any:
    """Returns zeros with the shape and type of a value, as memory for the result of a kernel."""
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value, memory_format=torch.preserve_format)
    return [_zeros_like(item) for item in value] if isinstance(value, list) else type(value)(0)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _difference(result: torch.Tensor, expected: torch.Tensor) -> float:
    a, b = _wide(result), _wide(expected)
    same = (a == b) | (a.isnan() & b.isnan())
    distance = torch.where(same, 0.0, (a - b).abs())
    # A NaN remains if only one of the values is NaN or infinite.
    return float(distance.nan_to_num(nan=torch.inf).max()) if distance.numel() else 0.0


def _scale(tensor: torch.Tensor) -> float:
    values = _wide(tensor).abs()
    values = values[values.isfinite()]
    return float(values.max()) if values.numel() else 0.0


def _text(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
    return f"[{', '.join(map(_text, value))}]" if isinstance(value, list) else repr(value)
