"""Reads and compares recorded values, as `executorch.devtools.inspector._inspector_utils` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch

from rushlight.devtools.etdump.schema_flatcc import (
    DebugEvent,
    ETDumpFlatCC,
    Event,
    ProfileEvent,
    Tensor,
    Value,
    ValueType,
)
from rushlight.devtools.etdump.serialize import deserialize_from_etdump_flatcc
from rushlight.devtools.inspector.numerical_comparator import as_float
from rushlight.devtools.inspector.perf import TimeScale
from rushlight.devtools.inspector.results import measure
from rushlight.devtools.inspector.values import inflate
from rushlight.runtime.aten.values import DTYPES

FORWARD = "forward"

TIME_SCALE_DICT = {scale: int(scale.per_second) for scale in TimeScale}

InferenceOutput: TypeAlias = "torch.Tensor | list[torch.Tensor] | int | float | str | bool | None"
ProgramOutput: TypeAlias = list[InferenceOutput]


def calculate_time_scale_factor(source_time_scale: TimeScale, target_time_scale: TimeScale) -> float:
    """Returns the number of source units in one target unit."""
    return source_time_scale.per_second / target_time_scale.per_second


def gen_etdump_object(
    etdump_path: str | os.PathLike[str] | None = None, etdump_data: bytes | None = None
) -> ETDumpFlatCC:
    """Reads an ETDump.

    Args:
        etdump_path: the path of the file.
        etdump_data: the bytes of the ETDump, instead of the path.

    Raises:
        ValueError: both arguments are None.
    """
    if etdump_data is None:
        if etdump_path is None:
            raise ValueError("etdump_path or etdump_data is needed, but neither is given")
        etdump_data = Path(etdump_path).read_bytes()
    return deserialize_from_etdump_flatcc(etdump_data)


def find_populated_event(event: Event) -> ProfileEvent | DebugEvent:
    """Returns the profile event of an event of a dump, or else its debug event.

    Raises:
        ValueError: the event has neither of them.
    """
    found = event.profile_event or event.debug_event
    if found is None:
        raise ValueError("an event of the ETDump has neither a profile event nor a debug event")
    return found


def is_debug_output(value: Value) -> bool:
    """Returns whether a recorded value is an output of the method."""
    return value.output is not None and value.output.bool_val


def inflate_runtime_output(value: Value, output_buffer: bytes | None) -> Any:
    """Reads a recorded value.

    Args:
        value: the entry of the dump.
        output_buffer: the debug buffer. If it is None, tensors are zeros.
    """
    if output_buffer is not None:
        return inflate(value, output_buffer)
    if value.val == ValueType.TENSOR.value and value.tensor is not None:
        return _zeros(value.tensor)
    if value.val == ValueType.TENSOR_LIST.value and value.tensor_list is not None:
        return [_zeros(tensor) for tensor in value.tensor_list.tensors]
    return inflate(value, None)


def _zeros(tensor: Tensor) -> torch.Tensor:
    return torch.zeros(list(tensor.sizes), dtype=DTYPES[tensor.scalar_type])


def is_inference_output_equal(output1: Any, output2: Any) -> bool:
    """Returns whether two values are equal. Lists are compared item by item."""
    if isinstance(output1, torch.Tensor) and isinstance(output2, torch.Tensor):
        return torch.equal(output1, output2)
    if isinstance(output1, (list, tuple)) and isinstance(output2, (list, tuple)):
        return len(output1) == len(output2) and all(map(is_inference_output_equal, output1, output2))
    return bool(output1 == output2)


def verify_debug_data_equivalence(existing_data: ProgramOutput, new_data: ProgramOutput) -> None:
    """Checks that two runs recorded the same values.

    Raises:
        AssertionError: the values differ.
    """
    if len(existing_data) != len(new_data):
        raise AssertionError(f"one run recorded {len(existing_data)} values, but another {len(new_data)}")
    for place, (one, other) in enumerate(zip(existing_data, new_data, strict=True)):
        if not isinstance(one, type(other)) or not is_inference_output_equal(one, other):
            raise AssertionError(f"value {place} is {one!r:.200} in one run, but {other!r:.200} in another")


def convert_to_float_tensor(input_data: Any) -> torch.Tensor:
    """Converts a number or a tensor to a float64 tensor on the CPU, in which NaN is replaced by 0.

    Raises:
        AssertionError: the value is a sequence.
        ValueError: the value is neither a number nor a tensor.
    """
    if isinstance(input_data, Sequence):
        raise AssertionError("only a number or a tensor can be converted, not a sequence")
    try:
        numbers = as_float(input_data).cpu()
    except ValueError as error:
        raise ValueError(f"Cannot convert value of type {type(input_data)} to a tensor: {error}") from None
    return torch.nan_to_num(numbers) if bool(numbers.isnan().any()) else numbers


def calculate_mse(ref_values: Sequence[Any], values: Sequence[Any]) -> list[float | None]:
    """Returns the mean squared error of each pair of tensors with two decimals; None for other values."""
    return _measures("mse", ref_values, values)


def calculate_snr(ref_values: Sequence[Any], values: Sequence[Any]) -> list[float | None]:
    """Returns the SNR in dB of each pair of tensors with two decimals; None for other values."""
    return _measures("snr", ref_values, values)


def calculate_cosine_similarity(ref_values: Sequence[Any], values: Sequence[Any]) -> list[float | None]:
    """Returns the cosine similarity of each pair of tensors with two decimals; None for other values."""
    return _measures("cosine_similarity", ref_values, values)


def _measures(metric: str, references: Sequence[Any], values: Sequence[Any]) -> list[float | None]:
    pairs = zip(references, values, strict=False)
    return [
        round(measure(metric, a, b), 2)
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
        else None
        for a, b in pairs
    ]
