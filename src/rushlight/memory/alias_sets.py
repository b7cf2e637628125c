"""Alias sets: groups of tensors that share bytes, with their lifetimes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rushlight.ir.spec import DEFAULT_ALIGNMENT, TensorSpec
from rushlight.memory.problem import PlanError, align_up

# No machine has this much memory: a larger size comes from a dimension without a bound.
MAX_PLANNED_BYTES = 1 << 48


class Owner(Enum):
    """The provider of the bytes of an alias set."""

    PLAN = "plan"
    FILE = "file"
    CALLER = "caller"
    RUNTIME = "runtime"


@dataclass(slots=True, eq=False)
class AliasSet:
    """Tensors that share bytes; `offsets` are their offsets in bytes from a common origin.

    The members lie within the bytes [low, high) from the origin; member sizes are rounded up to `alignment`.
    The set is alive from step `first` to step `last`, both inclusive; `last` is -1 if no step reads or writes
    the set. `state` marks a mutable buffer, whose content outlives an execution.
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
        """Extends the lifetime to include `step`."""
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
        """Whether the member `spec` covers all bytes of the alias set."""
        return self.offsets[spec] == self.low and align_up(spec.nbytes(), self.alignment) == self.size


class AliasSets:
    """All alias sets of a program. Every TensorSpec belongs to exactly one alias set.

    Args:
        alignment: alias sets begin at multiples of this number of bytes.
    """

    def __init__(self, alignment: int = DEFAULT_ALIGNMENT) -> None:
        self._alignment = alignment
        self._of: dict[TensorSpec, AliasSet] = {}

    def of(self, spec: TensorSpec) -> AliasSet:
        """Returns the alias set of a tensor; a tensor without a set gets a new set."""
        alias_set = self._of.get(spec)
        if alias_set is None:
            owner = Owner.FILE if spec.const else Owner.PLAN
            if spec.is_dynamic_unbound_tensor and not spec.const:
                owner = Owner.RUNTIME
            size = 0 if owner is Owner.RUNTIME else _planned_size(spec, self._alignment)
            alias_set = self._of[spec] = AliasSet({spec: 0}, 0, size, owner, spec.mem_id, self._alignment)
        return alias_set

    def share(self, spec: TensorSpec, base: TensorSpec, offset: int = 0) -> None:
        """Places `spec` `offset` bytes into `base`. Raises PlanError if they require different memories."""
        small, large = self.of(spec), self.of(base)
        shift = large.offsets[base] + offset - small.offsets[spec]
        if small is large:
            if shift:
                raise PlanError(f"{spec!r} has two places, {shift} bytes apart, in the memory of {base!r}")
            return
        if None not in (small.mem_id, large.mem_id) and small.mem_id != large.mem_id:
            raise PlanError(
                f"{spec!r} shares bytes with {base!r}, but they ask for the memories "
                f"{small.mem_id} and {large.mem_id}"
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
        """All alias sets, ordered by first step."""
        unique = {id(alias_set): alias_set for alias_set in self._of.values()}
        return sorted(unique.values(), key=lambda alias_set: alias_set.first)


_STRENGTH = (Owner.PLAN, Owner.RUNTIME, Owner.CALLER, Owner.FILE)


def _stronger(a: Owner, b: Owner) -> Owner:
    """The owner of a joined alias set: memory provided by others takes precedence over planned memory."""
    return max(a, b, key=_STRENGTH.index)


def _planned_size(spec: TensorSpec, alignment: int) -> int:
    """The bytes to reserve for a tensor at its upper bounds. Raises PlanError if a dim has no upper bound."""
    size = align_up(spec.nbytes(), alignment)
    if isinstance(size, int) and size < MAX_PLANNED_BYTES:
        return size
    raise PlanError(
        f"{spec!r} needs {size} bytes at its upper bounds; bound its dims with "
        "torch.export.Dim(..., max=...) or torch._check"
    )


def check_alignment(alias_set: AliasSet) -> None:
    """Raises PlanError if the offset of a member within the alias set violates the member's alignment."""
    for spec, offset in alias_set.offsets.items():
        if (offset - alias_set.low) % alias_set.alignment:
            raise PlanError(
                f"{spec!r} lies {offset - alias_set.low} bytes into its alias set, against its alignment"
            )
