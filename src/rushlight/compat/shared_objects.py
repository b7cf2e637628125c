"""Parts of memories that tensors share, for algorithms written with `executorch.exir.memory_planning`."""

from __future__ import annotations

from dataclasses import dataclass, field

from rushlight.ir.errors import internal_assert
from rushlight.ir.spec import TensorSpec


@dataclass
class AllocationSpec:
    """A tensor in a shared object, and the bytes from its start."""

    offset: int
    spec: TensorSpec


@dataclass
class SharedObject:
    """A part of a memory.

    Attributes:
        idx: its index among the parts.
        offset: where it begins in the memory, in bytes; -1 if that is not known yet.
        size: its bytes.
        first_used_index: the first step at which it is in use.
        last_used_index: the last such step.
        allocations: the tensors in it.
    """

    idx: int
    offset: int
    size: int
    first_used_index: int
    last_used_index: int
    allocations: list[AllocationSpec] = field(default_factory=list)

    def alive_with(self, spec: TensorSpec) -> list[AllocationSpec]:
        """The tensors of the object whose lifetime overlaps the lifetime of `spec`."""
        first, last = _lifetime(spec)
        lifetimes = ((found, *_lifetime(found.spec)) for found in self.allocations)
        return [found for found, its_first, its_last in lifetimes if first <= its_last and its_first <= last]


def pick_shared_obj(
    shared_objects: list[SharedObject], spec: TensorSpec, allow_overlapping_allocations: bool = True
) -> SharedObject:
    """Puts a tensor into a shared object, or into a new one at the end of the list.

    Args:
        shared_objects: the objects. Tensors are given in the order of decreasing size.
        spec: the tensor, with a lifetime.
        allow_overlapping_allocations: also put it behind the tensors of an object that are alive with it.

    Returns:
        The first object none of whose tensors is alive with it, else the first one with room behind them.

    Raises:
        InternalError: the tensor is larger than an object that it would be put into.
    """
    size = spec.allocated_memory
    for found in shared_objects:
        if not found.alive_with(spec):
            internal_assert(found.size >= size, f"{spec!r} is planned after smaller tensors")
            return _put(found, spec, 0)
    for found in shared_objects if allow_overlapping_allocations else ():
        end = max(other.offset + other.spec.allocated_memory for other in found.alive_with(spec))
        if end + size <= found.size:
            return _put(found, spec, end)
    first, last = _lifetime(spec)
    shared_objects.append(SharedObject(len(shared_objects), -1, size, first, last))
    return _put(shared_objects[-1], spec, 0)


def _put(found: SharedObject, spec: TensorSpec, offset: int) -> SharedObject:
    first, last = _lifetime(spec)
    found.first_used_index = min(found.first_used_index, first)
    found.last_used_index = max(found.last_used_index, last)
    found.allocations.append(AllocationSpec(offset, spec))
    return found


def _lifetime(spec: TensorSpec) -> tuple[int, int]:
    first, last = spec.lifetime
    internal_assert(first is not None and last is not None, f"{spec!r} has no lifetime")
    return first, last  # type: ignore[return-value]
