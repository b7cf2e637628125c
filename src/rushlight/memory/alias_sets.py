"""Alias sets: groups of tensors that share bytes, with their lifetimes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rushlight.ir.spec import DEFAULT_ALIGNMENT, TensorSpec
from rushlight.memory.problem import PlanError, align_up

# No machine has this much memory. A larger size means that a dimension has no upper bound.
MAX_PLANNED_BYTES = 1 << 48


class Owner(Enum):
    """The owner of the bytes of an alias set: the plan, the program file, the caller, or the runtime."""

    PLAN = "plan"
    FILE = "file"
    CALLER = "caller"
    RUNTIME = "runtime"


@dataclass(slots=True, eq=False)
class AliasSet:
    """Tensors that share bytes.

    Attributes:
        offsets: the offset of each tensor from a common origin, in bytes.
        low, high: the range [low, high) of all tensors from the origin, in bytes. Sizes of tensors are
            rounded up to `alignment`.
        owner: the owner of the bytes.
        mem_id: the required memory, or None.
        alignment: the alignment in bytes.
        first, last: the steps of the lifetime, both inclusive. `last` is -1 if no step reads or writes the
            set.
        state: whether this is a mutable buffer, which keeps its contents between executions.
        name: a name for messages: that of an input, or of the first node that writes to the set.
    """

    offsets: dict[TensorSpec, int]
    low: int
    high: int
    owner: Owner
    mem_id: int | None
    alignment: int = DEFAULT_ALIGNMENT
    first: int = 0
    last: int = -1
    state: bool = False
    name: str = ""

    def touch(self, step: int) -> None:
        """Extends the lifetime so that it includes `step`."""
        if self.last < 0:
            self.first = self.last = step
        else:
            self.first = min(self.first, step)
            self.last = max(self.last, step)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.high - self.low

    def is_whole(self, spec: TensorSpec) -> bool:
        """Whether the tensor `spec` covers all bytes of the alias set."""
        return self.offsets[spec] == self.low and align_up(spec.nbytes(), self.alignment) == self.size


class AliasSets:
    """All alias sets of a program. Every TensorSpec belongs to exactly one alias set.

    Args:
        alignment: the alignment of the alias sets, in bytes.
    """

    def __init__(self, alignment: int = DEFAULT_ALIGNMENT) -> None:
        self._alignment = alignment
        self._of: dict[TensorSpec, AliasSet] = {}

    def of(self, spec: TensorSpec) -> AliasSet:
        """Returns the alias set of a tensor. If the tensor has no alias set, it gets a new one."""
        alias_set = self._of.get(spec)
        if alias_set is None:
            owner = Owner.FILE if spec.const else Owner.PLAN
            if spec.is_dynamic_unbound_tensor and not spec.const:
                owner = Owner.RUNTIME
            size = 0 if owner is Owner.RUNTIME else _planned_size(spec, self._alignment)
            alias_set = self._of[spec] = AliasSet({spec: 0}, 0, size, owner, spec.mem_id, self._alignment)
        return alias_set

    def share(self, spec: TensorSpec, base: TensorSpec, offset: int = 0) -> None:
        """Joins the alias sets of two tensors.

        Args:
            spec: a tensor.
            base: the tensor that contains `spec`.
            offset: the offset of `spec` in `base`, in bytes.

        Raises:
            PlanError: the tensors require different memories, or `spec` already has another offset.
        """
        small, large = self.of(spec), self.of(base)
        shift = large.offsets[base] + offset - small.offsets[spec]
        if small is large:
            if shift:
                raise PlanError(
                    f"{spec!r} has two different offsets in the memory of {base!r}; their difference is "
                    f"{shift} bytes"
                )
            return
        if None not in (small.mem_id, large.mem_id) and small.mem_id != large.mem_id:
            raise PlanError(
                f"{spec!r} shares bytes with {base!r}, but their specs have the memories "
                f"{small.mem_id} and {large.mem_id}; give both the same mem_id"
            )
        if len(small.offsets) > len(large.offsets):
            small, large, shift = large, small, -shift
        large.offsets.update((member, at + shift) for member, at in small.offsets.items())
        large.low = min(large.low, small.low + shift)
        large.high = max(large.high, small.high + shift)
        if small.last >= 0:
            large.touch(small.first)
            large.touch(small.last)
        large.owner = _stronger(small.owner, large.owner)
        large.state = large.state or small.state
        large.mem_id = large.mem_id if large.mem_id is not None else small.mem_id
        large.name = large.name or small.name
        for member in small.offsets:
            self._of[member] = large

    def all(self) -> list[AliasSet]:
        """Returns all alias sets, ordered by first step."""
        unique = {id(alias_set): alias_set for alias_set in self._of.values()}
        return sorted(unique.values(), key=lambda alias_set: alias_set.first)


_STRENGTH = (Owner.PLAN, Owner.RUNTIME, Owner.CALLER, Owner.FILE)


def _stronger(a: Owner, b: Owner) -> Owner:
    """Returns the owner of a joined alias set: memory of another owner has precedence over planned memory."""
    return max(a, b, key=_STRENGTH.index)


def _planned_size(spec: TensorSpec, alignment: int) -> int:
    """Returns the bytes of a tensor at its upper bounds. Raises PlanError if a dim has no upper bound."""
    size = align_up(spec.nbytes(), alignment)
    if isinstance(size, int) and size < MAX_PLANNED_BYTES:
        return size
    raise PlanError(
        f"{spec!r} needs {size} bytes at the upper bounds of its dims; give smaller bounds with "
        "torch.export.Dim(..., max=...) or torch._check"
    )


def check_alignment(alias_set: AliasSet) -> None:
    """Raises PlanError if the offset of a tensor in its alias set is not a multiple of the alignment."""
    for spec, offset in alias_set.offsets.items():
        if (offset - alias_set.low) % alias_set.alignment:
            raise PlanError(
                f"{spec!r} has the offset {offset - alias_set.low} in its alias set, which is not a "
                f"multiple of the alignment {alias_set.alignment}"
            )
