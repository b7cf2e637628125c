"""Memory objects that several tensors share, for algorithms that use `executorch.exir.memory_planning`."""

from __future__ import annotations

from dataclasses import dataclass, field

from rushlight.ir.errors import internal_assert
from rushlight.ir.spec import TensorSpec


@dataclass
class AllocationSpec:
    """A tensor in a shared object, and its offset in bytes from the start of the object."""

    offset: int
    spec: TensorSpec


@dataclass
class SharedObject:
    """A range of a memory.

    Attributes:
        idx: the index of the object in the list of objects.
        offset: the offset of the object in the memory, in bytes; -1 if it is not known yet.
        size: the size of the object in bytes.
        first_used_index: the index of the first node that uses the object.
        last_used_index: the index of the last node that uses the object.
        allocations: the tensors in the object.
    """

    idx: int
    offset: int
    size: int
    first_used_index: int
    last_used_index: int
    allocations: list[AllocationSpec] = field(default_factory=list)

    def alive_with(self, spec: TensorSpec) -> list[AllocationSpec]:
        """Returns the tensors of the object whose lifetimes overlap the lifetime of `spec`."""
        first, last = _lifetime(spec)
        lifetimes = ((other, *_lifetime(other.spec)) for other in self.allocations)
        return [
            other
            for other, other_first, other_last in lifetimes
            if first <= other_last and other_first <= last
        ]


def pick_shared_obj(
    shared_objects: list[SharedObject], spec: TensorSpec, allow_overlapping_allocations: bool = True
) -> SharedObject:
    """Places a tensor in a shared object, or in a new object, which is appended to the list.

    The function selects the first object in which no tensor is alive at the same time as `spec`. If there is
    no such object, it selects the first one with enough space behind these tensors.

    Args:
        shared_objects: the objects. The function must be called for tensors in the order of decreasing size.
        spec: the tensor, with a lifetime.
        allow_overlapping_allocations: whether an object may contain tensors with overlapping lifetimes.

    Returns:
        The selected object.

    Raises:
        InternalError: the tensor is larger than the selected object.
    """
    size = spec.allocated_memory
    for found in shared_objects:
        if not found.alive_with(spec):
            internal_assert(found.size >= size, f"{spec!r} is planned after smaller tensors")
            return _add_to(found, spec, 0)
    for found in shared_objects if allow_overlapping_allocations else ():
        end = max(other.offset + other.spec.allocated_memory for other in found.alive_with(spec))
        if end + size <= found.size:
            return _add_to(found, spec, end)
    first, last = _lifetime(spec)
    shared_objects.append(SharedObject(len(shared_objects), -1, size, first, last))
    return _add_to(shared_objects[-1], spec, 0)


def _add_to(found: SharedObject, spec: TensorSpec, offset: int) -> SharedObject:
    first, last = _lifetime(spec)
    found.first_used_index = min(found.first_used_index, first)
    found.last_used_index = max(found.last_used_index, last)
    found.allocations.append(AllocationSpec(offset, spec))
    return found


def _lifetime(spec: TensorSpec) -> tuple[int, int]:
    first, last = spec.lifetime
    internal_assert(first is not None and last is not None, f"{spec!r} has no lifetime")
    return first, last  # type: ignore[return-value]
