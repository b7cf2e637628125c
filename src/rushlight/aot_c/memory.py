"""Finds the instructions that read and write planned memory: state, aliases and unused results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rushlight.aot_c.dtypes import ELEMENTS, size_of
from rushlight.aot_c.errors import AotCError
from rushlight.aot_c.values import Region
from rushlight.format.program import (
    ExecutionPlan,
    KernelCall,
    MoveCall,
    OptionalTensorList,
    Tensor,
    TensorList,
)

COPY_INDEX = "executorch_prim::et_copy_index.tensor"
VIEW = "executorch_prim::et_view.default"


def full_name(plan: ExecutionPlan, index: int) -> str:
    """Returns the name of an operator with its overload, such as `aten::add.out`."""
    operator = plan.operators[index]
    return f"{operator.name}.{operator.overload}" if operator.overload else operator.name


def tensors_in(plan: ExecutionPlan, index: int) -> Iterator[int]:
    """Yields the index of a tensor value, or the indices of the tensors in a list value."""
    value = plan.values[index].val if index >= 0 else None
    if isinstance(value, Tensor):
        yield index
    elif isinstance(value, (TensorList, OptionalTensorList)):
        for item in value.items:
            if item >= 0 and isinstance(plan.values[item].val, Tensor):
                yield item


def region_of(tensor: Tensor) -> Region | None:
    """Returns the bytes of a tensor in planned memory; None if the tensor is not in planned memory."""
    place = tensor.allocation_info
    if place is None or tensor.scalar_type not in ELEMENTS:
        return None
    size = size_of(tensor.scalar_type)
    for dim in tensor.sizes:
        size *= dim
    return Region(str(place.memory_id), place.memory_offset, place.memory_offset + size)


@dataclass
class Usage:
    """The accesses of instructions to tensors.

    Attributes:
        state: tensors whose bytes an instruction reads before any instruction of the same run writes them.
        unwritten: tensors that an instruction reads although none has written them: state and aliases.
        written: tensors that instructions write.
        users: for each tensor, the number of instructions and outputs that refer to it.
    """

    state: set[int] = field(default_factory=set)
    unwritten: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    users: dict[int, int] = field(default_factory=dict)


class _ByteRanges:
    """A set of byte ranges in the planned memories."""

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[int, int]]] = {}

    def add(self, region: Region) -> None:
        spans = self._spans.setdefault(region.space, [])
        start, end = region.start, region.end
        rest = []
        for a, b in spans:
            if b < start or a > end:
                rest.append((a, b))
            else:
                start, end = min(start, a), max(end, b)
        self._spans[region.space] = sorted([*rest, (start, end)])

    def covers(self, region: Region) -> bool:
        spans = self._spans.get(region.space, [])
        return region.start >= region.end or any(a <= region.start and region.end <= b for a, b in spans)


def usage_of(plan: ExecutionPlan) -> Usage:
    """Finds which instructions of a method read and write each tensor."""
    accesses = _Accesses(plan)
    for chain in plan.chains:
        for instruction in chain.instructions:
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                accesses.add_kernel(call)
            elif isinstance(call, MoveCall):
                accesses.add(set(tensors_in(plan, call.move_from)), set(tensors_in(plan, call.move_to)))
    accesses.add({index for output in plan.outputs for index in tensors_in(plan, output)}, set())
    return accesses.usage


class _Accesses:
    """Records the accesses of instructions, which are added in execution order.

    Attributes:
        usage: the accesses so far.
    """

    def __init__(self, plan: ExecutionPlan) -> None:
        self._plan = plan
        self._inputs = set(plan.inputs)
        self._written = _ByteRanges()
        for index in self._inputs:
            self._mark_written(index)
        self.usage = Usage(state=set(filter(self._has_initial_value, range(len(plan.values)))))

    def _has_initial_value(self, index: int) -> bool:
        """Returns whether a planned tensor has a value before the first instruction of the first run."""
        tensor = self._plan.values[index].val
        if not isinstance(tensor, Tensor) or tensor.allocation_info is None or index in self._inputs:
            return False
        extra = tensor.extra_tensor_info
        return tensor.data_buffer_idx > 0 or (extra is not None and bool(extra.fully_qualified_name))

    def _is_constant(self, index: int) -> bool:
        value = self._plan.values[index].val
        return isinstance(value, Tensor) and value.allocation_info is None and value.data_buffer_idx > 0

    def _region(self, index: int) -> Region | None:
        value = self._plan.values[index].val
        return region_of(value) if isinstance(value, Tensor) else None

    def _mark_written(self, index: int) -> None:
        region = self._region(index)
        if region is not None:
            self._written.add(region)

    def add(self, reads: set[int], writes: set[int]) -> None:
        """Adds an instruction, or the caller, which reads some tensors and then writes some tensors."""
        usage = self.usage
        for index in reads | writes:
            usage.users[index] = usage.users.get(index, 0) + 1
        for index in reads:
            if index in usage.written or index in self._inputs or self._is_constant(index):
                continue
            usage.unwritten.add(index)
            region = self._region(index)
            if region is not None and not self._written.covers(region):
                usage.state.add(index)
        for index in writes:
            usage.written.add(index)
            self._mark_written(index)

    def add_kernel(self, call: KernelCall) -> None:
        """Adds a kernel call, which writes its last argument and reads the others."""
        plan = self._plan
        name = full_name(plan, call.op_index)
        if not call.args:
            raise AotCError(f"method '{plan.name}': {name} is called without arguments")
        outs = set(tensors_in(plan, call.args[0] if name == COPY_INDEX else call.args[-1]))
        arguments = [index for value in call.args for index in tensors_in(plan, value)]
        # An in-place update also reads the tensor: the call lists it as input, as out and as result.
        updates = {index for index in outs if arguments.count(index) > 2 or name == COPY_INDEX}
        if name.endswith("_") and name != "aten::copy_":
            updates |= outs & set(tensors_in(plan, call.args[0]))
        self.add(set(arguments) - outs | updates, outs)
