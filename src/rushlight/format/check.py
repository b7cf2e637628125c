"""Checks the indices in a program. A schema cannot express these checks.

The runtime does the same checks when it loads a file. These checks name the position in the Program.
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.format.elements import tensor_nbytes
from rushlight.format.errors import FormatError
from rushlight.format.program import (
    Bool,
    Chain,
    DelegateCall,
    EValue,
    ExecutionPlan,
    FreeCall,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    Program,
    Tensor,
    TensorList,
    TensorShapeDynamism,
)

# The runtime cannot load a tensor with more dimensions.
MAX_RANK = 16


def check_program(program: Program) -> None:
    """Checks that all indices of a program are valid.

    Raises:
        FormatError: an index is invalid. The message names the method and the position.
    """
    names = set()
    for plan in program.execution_plan:
        if plan.name in names:
            raise FormatError(f"two methods have the name {plan.name!r}")
        names.add(plan.name)
        _PlanChecker(plan).run()


class _PlanChecker:
    def __init__(self, plan: ExecutionPlan) -> None:
        self._plan = plan
        self._where = f"method {plan.name!r}"

    def _error(self, message: str) -> FormatError:
        return FormatError(f"{self._where}: {message}")

    def _check_indices(self, what: str, indices: Sequence[int]) -> None:
        count = len(self._plan.values)
        if indices and not (0 <= min(indices) and max(indices) < count):
            bad = next(index for index in indices if not 0 <= index < count)
            raise self._error(f"{what} refers to value {bad}, but there are {count} values")

    def run(self) -> None:
        plan = self._plan
        if any(size < 0 for size in plan.non_const_buffer_sizes):
            raise self._error("a planned buffer has a negative size")
        for i, value in enumerate(plan.values):
            self._value(i, value)
        self._check_indices("an input", plan.inputs)
        self._check_indices("an output", plan.outputs)
        for device in plan.non_const_buffer_device or []:
            if not 0 <= device.buffer_idx < len(plan.non_const_buffer_sizes):
                raise self._error(
                    f"a device is set for planned buffer {device.buffer_idx}, which does not exist"
                )
        for number, chain in enumerate(plan.chains):
            self._chain(number, chain)

    def _value(self, index: int, value: EValue) -> None:
        found = value.val
        what = f"value {index}"
        if isinstance(found, Tensor):
            self._tensor(what, found)
        elif isinstance(found, IntList):
            self._list(what, found.items, (Int,))
        elif isinstance(found, TensorList):
            self._list(what, found.items, (Tensor,))
        elif isinstance(found, OptionalTensorList):
            self._list(what, [item for item in found.items if item != -1], (Tensor, Null))

    def _list(self, what: str, items: Sequence[int], allowed: tuple[type, ...]) -> None:
        self._check_indices(what, items)
        for item in items:
            found = self._plan.values[item].val
            if not isinstance(found, allowed):
                raise self._error(
                    f"{what} expects value {item} to be {allowed[0].__name__}, but it is "
                    f"{type(found).__name__}"
                )

    def _tensor(self, what: str, tensor: Tensor) -> None:
        rank = len(tensor.sizes)
        if rank > MAX_RANK:
            raise self._error(f"{what} has {rank} dimensions; at most {MAX_RANK} are supported")
        if any(size < 0 for size in tensor.sizes):
            raise self._error(f"{what} has a negative size: {tensor.sizes}")
        if sorted(tensor.dim_order) != list(range(rank)):
            raise self._error(f"{what} of {rank} dimensions has the invalid dim order {tensor.dim_order}")
        place = tensor.allocation_info
        if place is None or tensor.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND:
            return
        sizes = self._plan.non_const_buffer_sizes
        if not 1 <= place.memory_id < len(sizes):
            raise self._error(f"{what} is planned in memory {place.memory_id}, which does not exist")
        nbytes = tensor_nbytes(tensor.scalar_type, tensor.sizes) or 0
        if place.memory_offset + nbytes > sizes[place.memory_id]:
            raise self._error(
                f"{what} ({nbytes} bytes at {place.memory_offset}) does not fit in memory "
                f"{place.memory_id} of {sizes[place.memory_id]} bytes"
            )

    def _chain(self, number: int, chain: Chain) -> None:
        plan = self._plan
        self._check_indices(f"an input of chain {number}", chain.inputs)
        self._check_indices(f"an output of chain {number}", chain.outputs)
        count = len(chain.instructions)
        if chain.stacktrace is not None and len(chain.stacktrace) not in (0, count):
            raise self._error(
                f"chain {number} has {count} instructions and {len(chain.stacktrace)} stack traces"
            )
        for i, instruction in enumerate(chain.instructions):
            call = instruction.instr_args
            what = f"instruction {i}"
            if isinstance(call, KernelCall):
                if not 0 <= call.op_index < len(plan.operators):
                    raise self._error(
                        f"{what} calls operator {call.op_index}, but there are {len(plan.operators)}"
                    )
                self._check_indices(what, call.args)
            elif isinstance(call, DelegateCall):
                if not 0 <= call.delegate_index < len(plan.delegates):
                    raise self._error(
                        f"{what} calls delegate {call.delegate_index}, but there are {len(plan.delegates)}"
                    )
                self._check_indices(what, call.args)
            elif isinstance(call, MoveCall):
                self._check_indices(what, (call.move_from, call.move_to))
            elif isinstance(call, JumpFalseCall):
                self._jump(what, call, count)
            elif isinstance(call, FreeCall):
                self._check_indices(what, (call.value_index,))
                self._kind(what, call.value_index, Tensor)

    def _jump(self, what: str, call: JumpFalseCall, count: int) -> None:
        self._check_indices(what, (call.cond_value_index,))
        found = self._plan.values[call.cond_value_index].val
        if not isinstance(found, (Bool, Tensor)):
            raise self._error(
                f"{what} has the condition value {call.cond_value_index}, a {type(found).__name__}; it must "
                "be a Bool or a Tensor"
            )
        # A jump to the end of the chain is valid.
        if not 0 <= call.destination_instruction <= count:
            raise self._error(
                f"{what} jumps to instruction {call.destination_instruction}, but its chain has {count}"
            )

    def _kind(self, what: str, index: int, expected: type) -> None:
        found = self._plan.values[index].val
        if not isinstance(found, expected):
            raise self._error(
                f"{what} expects value {index} to be {expected.__name__}, but it is {type(found).__name__}"
            )
