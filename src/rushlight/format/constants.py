"""Which tensors use which constant, and where the constants are in their segment."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence

from rushlight.format.elements import tensor_nbytes
from rushlight.format.errors import FormatError, MalformedError
from rushlight.format.program import Program, Tensor, TensorDataLocation


def constant_users(program: Program, *, is_mutable: bool = False) -> dict[int, tuple[str, int | None]]:
    """By index of each constant in use: the value that needs most of it, as text, and the bytes it needs.

    is_mutable: the initial values of planned tensors instead. The bytes are None for sub-byte elements.
    """
    users: dict[int, tuple[str, int | None]] = {}
    for plan in program.execution_plan:
        for i, value in enumerate(plan.values):
            tensor = value.val
            if not isinstance(tensor, Tensor) or tensor.data_buffer_idx == 0:
                continue
            extra = tensor.extra_tensor_info
            if extra is not None and extra.location == TensorDataLocation.EXTERNAL:
                continue
            if (tensor.allocation_info is not None) != is_mutable:
                continue
            if is_mutable and extra is not None and extra.mutable_data_segments_idx:
                segment = extra.mutable_data_segments_idx
                raise FormatError(f"method {plan.name!r}: value {i} has its initial value in list {segment}")
            nbytes = tensor_nbytes(tensor.scalar_type, tensor.sizes)
            known = users.get(tensor.data_buffer_idx)
            if known is None or nbytes is None or (known[1] is not None and nbytes > known[1]):
                users[tensor.data_buffer_idx] = (f"method {plan.name!r}, value {i}", nbytes)
    return users


def locate(
    segment: memoryview, offsets: Sequence[int], users: Mapping[int, tuple[str, int | None]], what: str
) -> list[memoryview]:
    """A view per offset: as long as the tensors that use it need, else up to the next offset.

    Entry 0 is empty. Raises MalformedError if an offset, or what a tensor needs, is not inside.
    """
    table = "SubsegmentOffsets"
    for index, (user, _) in users.items():
        if index >= len(offsets):
            reason = f"{user} uses {what} {index}, but there are {len(offsets)}"
            raise MalformedError(reason, table=table, field="offsets")
    ordered = sorted(set(offsets))
    views = []
    for i, offset in enumerate(offsets):
        if offset > segment.nbytes:
            reason = f"{what} {i} at {offset} is not inside of the segment's {segment.nbytes} bytes"
            raise MalformedError(reason, table=table, field="offsets")
        after = bisect.bisect_right(ordered, offset)
        end = ordered[after] if after < len(ordered) else segment.nbytes
        if i == 0:
            end = offset
        elif i in users:
            user, nbytes = users[i]
            if nbytes is not None:
                end = offset + nbytes
            if end > segment.nbytes:
                left = segment.nbytes - offset
                reason = f"{user} needs {nbytes} bytes of {what} {i}, the segment ends after {left}"
                raise MalformedError(reason, table=table, field="offsets")
        views.append(segment[offset : min(end, segment.nbytes)])
    return views
