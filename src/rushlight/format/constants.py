"""Finds the tensors that use each constant, and the position of each constant in its segment."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence

from rushlight.format.elements import tensor_nbytes
from rushlight.format.errors import FormatError, MalformedError
from rushlight.format.program import Program, Tensor, TensorDataLocation


def constant_users(program: Program, *, is_mutable: bool = False) -> dict[int, tuple[str, int | None]]:
    """Finds the tensors that use each constant.

    Args:
        program: the program.
        is_mutable: return the users of initial values of planned tensors instead of constants.

    Returns:
        For each used constant, by index: a description of the value that needs most bytes of the constant,
        and the number of these bytes. The number is None for elements smaller than a byte.
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
                raise FormatError(
                    f"method {plan.name!r}: value {i} has its initial value in mutable data segment "
                    f"{segment}; only segment 0 is supported"
                )
            nbytes = tensor_nbytes(tensor.scalar_type, tensor.sizes)
            known = users.get(tensor.data_buffer_idx)
            if known is None or nbytes is None or (known[1] is not None and nbytes > known[1]):
                users[tensor.data_buffer_idx] = (f"method {plan.name!r}, value {i}", nbytes)
    return users


def locate(
    segment: memoryview, offsets: Sequence[int], users: Mapping[int, tuple[str, int | None]], what: str
) -> list[memoryview]:
    """Finds the bytes of each constant in a segment.

    Args:
        segment: the bytes of the segment.
        offsets: the offset of each constant.
        users: the result of `constant_users`.
        what: the name of the constants in error messages.

    Returns:
        A view for each offset. A view has the length that its users need; without users, it ends at the next
        offset. Entry 0 is empty.

    Raises:
        MalformedError: a constant is not inside the segment.
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
            reason = f"{what} {i} at {offset} is not inside the segment of {segment.nbytes} bytes"
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
                available = segment.nbytes - offset
                reason = f"{user} needs {nbytes} bytes of {what} {i}, but the segment ends after {available}"
                raise MalformedError(reason, table=table, field="offsets")
        views.append(segment[offset : min(end, segment.nbytes)])
    return views
