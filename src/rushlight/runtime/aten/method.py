"""A method that runs one instruction at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from rushlight.format import program as p
from rushlight.format.pte import PTEFile
from rushlight.runtime._native import MethodMeta
from rushlight.runtime.aten import operators
from rushlight.runtime.aten.delegates import LoweredDelegate, NativeDelegate
from rushlight.runtime.aten.events import Hook, InstructionEvent
from rushlight.runtime.aten.inputs import InputChecker, has_torch
from rushlight.runtime.aten.values import ListSlot, Slot, TensorSlot, ValueReader, to_numpy
from rushlight.runtime.errors import InvalidArgumentError, InvalidStateError, NotFoundError, RushlightError

_COPIES = {"dim_order_ops", "et_copy"}


class Method:
    """A method with its memory and state. Only one call runs at a time.

    Attributes:
        hook: a function that is called after each instruction, or None. An exception of the hook ends the
            call.
        metadata: the names, types and sizes of inputs, outputs and planned memory.
        input_names: the names of the inputs in error messages.
    """

    def __init__(
        self,
        file: PTEFile,
        plan: p.ExecutionPlan,
        metadata: MethodMeta,
        external: Mapping[str, Any],
        delegate_data: object,
        hook: Hook | None = None,
        lowered: Sequence[Callable[..., Any]] | None = None,
    ) -> None:
        self.metadata = metadata
        self.hook = hook
        self.input_names: list[str] = []
        self._plan = plan
        if lowered is not None and len(lowered) != len(plan.delegates):
            raise InvalidArgumentError(
                f"method {plan.name!r} has {len(plan.delegates)} delegates, but {len(lowered)} lowered "
                + ("module is given" if len(lowered) == 1 else "modules are given")
            )
        for operator in plan.operators:
            operators.check(operator.name, operator.overload)
        self._initial = ValueReader(file, plan, external).values
        self._values = list(self._initial)
        self._inputs = InputChecker(file, plan)
        self._delegates: dict[tuple[int, int], Callable[[list[Slot]], None]] = {}
        self._lock = threading.Lock()
        self._running_thread: int | None = None
        for chain, items in enumerate(plan.chains):
            for index, instruction in enumerate(items.instructions):
                call = instruction.instr_args
                if isinstance(call, p.DelegateCall):
                    self._delegates[chain, index] = (
                        LoweredDelegate(lowered[call.delegate_index])
                        if lowered is not None
                        else NativeDelegate(file, plan, call, delegate_data)
                    )

    def execute(self, inputs: Sequence[object], clone_outputs: bool = True) -> list[Any]:
        """Runs the method.

        Args:
            inputs: tensors (of torch, numpy or DLPack) and scalars.
            clone_outputs: if False, outputs share the memory of the method, and the next run changes them.

        Returns:
            The outputs. Tensors are torch tensors if an input is a torch tensor, or if no input is a tensor.
            Otherwise they are numpy arrays.

        Raises:
            InvalidArgumentError, InvalidTypeError: the inputs have a wrong number, shape, dtype or type.
            RushlightError: an instruction failed. The message names the instruction, and the cause is torch's
                exception.
        """
        if self._running_thread == threading.get_ident():
            raise InvalidStateError(
                "a method cannot be called while it runs on the same thread, for example in its hook"
            )
        with self._lock:
            self._running_thread = threading.get_ident()
            try:
                self._reset(inputs)
                with torch.no_grad():
                    for chain in range(len(self._plan.chains)):
                        self._run_chain(chain)
                    outputs = [self._get(index) for index in self._plan.outputs]
                    if clone_outputs:
                        outputs = _copy(outputs)
            finally:
                self._running_thread = None
        if not has_torch(inputs):
            outputs = [to_numpy(item) for item in outputs]
        return outputs

    __call__ = execute

    def check_inputs(self, inputs: Sequence[object]) -> None:
        """Checks inputs as `execute` does, without running the method.

        Args:
            inputs: tensors (of torch, numpy or DLPack) and scalars.

        Raises:
            InvalidArgumentError, InvalidTypeError: the inputs have a wrong number, shape, dtype or type.
        """
        self._inputs.check(inputs, self.input_names)

    def get_attribute(self, name: str) -> torch.Tensor:
        """Returns a copy of a buffer by its fully qualified name.

        Raises:
            NotFoundError: there is no such buffer.
        """
        for value, slot in zip(self._plan.values, self._initial, strict=True):
            tensor = value.val
            if isinstance(tensor, p.Tensor) and isinstance(slot, TensorSlot) and tensor.extra_tensor_info:
                if tensor.extra_tensor_info.fully_qualified_name == name:
                    return slot.tensor.clone()
        raise NotFoundError(f"method {self._plan.name!r} has no buffer or parameter named {name!r}")

    def _reset(self, inputs: Sequence[object]) -> None:
        """Sets all values to their state at the start of a call."""
        checked = self._inputs.check(inputs, self.input_names)
        self._values = list(self._initial)
        for slot in self._initial:
            if isinstance(slot, TensorSlot):
                slot.restore()
        for index, given, value in zip(self._plan.inputs, inputs, checked, strict=True):
            slot = self._values[index]
            if not isinstance(slot, TensorSlot):
                self._values[index] = value
            elif slot.memory is None:
                # The tensor uses the memory of the caller. The program may write to it.
                slot.tensor = given.detach() if isinstance(given, torch.Tensor) else value
            else:
                slot.write(value)

    def _get(self, index: int) -> Any:
        """Returns a value as an argument for torch's kernels."""
        value = self._values[index]
        if isinstance(value, TensorSlot):
            return value.tensor
        if isinstance(value, ListSlot):
            return [None if item < 0 else self._get(item) for item in value.items]
        return value

    def _slots(self, index: int) -> list[TensorSlot]:
        """Returns the tensors of a value, which may be a list of tensors."""
        value = self._values[index]
        if isinstance(value, TensorSlot):
            return [value]
        if isinstance(value, ListSlot):
            return [slot for item in value.items if item >= 0 for slot in self._slots(item)]
        return []

    def _empty(self, index: int) -> Any:
        """Returns empty tensors in the structure of a value.

        A kernel may resize them and write its results.
        """
        value = self._values[index]
        if isinstance(value, TensorSlot):
            return torch.empty(0, dtype=value.dtype)
        if isinstance(value, ListSlot):
            return [self._empty(item) for item in value.items]
        return None

    def _run_chain(self, chain: int) -> None:
        instructions = self._plan.chains[chain].instructions
        at = 0
        while at < len(instructions):
            call = instructions[at].instr_args
            index, at = at, at + 1
            reads = self._read(call) if self.hook is not None else ()
            try:
                if isinstance(call, p.JumpFalseCall):
                    if not _is_true(self._get(call.cond_value_index)):
                        at = call.destination_instruction
                else:
                    self._run(call, chain, index)
            except Exception as error:
                known = isinstance(error, RushlightError)
                raise (type(error) if known else RushlightError)(
                    f"method {self._plan.name!r}, instruction {index} of chain {chain} "
                    f"({self._describe(call)[1]}): {error}",
                ) from error
            if self.hook is not None:
                self.hook(self._event(chain, index, call, reads))

    def _run(self, call: p.InstructionArguments, chain: int, index: int) -> None:
        match call:
            case p.KernelCall():
                self._kernel(self._plan.operators[call.op_index], call.args)
            case p.DelegateCall():
                self._delegates[chain, index]([self._values[i] for i in call.args])
            case p.MoveCall():
                self._values[call.move_to] = self._values[call.move_from]
            case p.FreeCall():
                slot = self._values[call.value_index]
                if isinstance(slot, TensorSlot) and slot.dynamism == p.TensorShapeDynamism.DYNAMIC_UNBOUND:
                    slot.tensor = slot.tensor.new_empty([0] * slot.tensor.dim())

    def _kernel(self, op: p.Operator, args: list[int]) -> None:
        library, _, base = op.name.partition("::")
        if base == "et_view":
            out = self._values[args[2]]
            assert isinstance(out, TensorSlot)
            out.point_at(self._get(args[0]).reshape(self._get(args[1])))
        elif base == "et_copy_index":
            self._copy_index(*args[:3])
        elif library == "executorch_prim":
            *operands, result = args
            self._values[result] = operators.PRIMS[base](*(self._get(index) for index in operands))
        elif base == "_empty_dim_order":
            self._slots(args[-1])[0].place(tuple(self._get(args[0])))
        elif library in _COPIES:
            self._slots(args[-1])[0].write(self._get(args[0]))
        else:
            self._torch_operator(operators.find_operator(op.name, op.overload), args)

    def _copy_index(self, target: int, source: int, index: int) -> None:
        """Writes a slice at `index` of dimension 0, and sets the size of this dimension to `index + 1`."""
        slot, piece, position = self._values[target], self._get(source), int(self._get(index))
        assert isinstance(slot, TensorSlot)
        before = slot.tensor
        after = slot.place((position + 1, *piece.shape))
        if slot.memory is None and position:
            after[:position].copy_(before[:position])
        after[position].copy_(piece)

    def _torch_operator(self, op: Any, args: list[int]) -> None:
        reads, _, _ = operators.roles(op, args)
        outs = operators.results(op, args)
        result = operators.call(op, [self._get(index) for index in reads], [self._empty(i) for i in outs])
        targets = [slot for index in outs for slot in self._slots(index)]
        if targets:
            for slot, tensor in zip(targets, _tensors(result), strict=True):
                slot.write(tensor)
        elif outs:
            self._values[outs[0]] = result

    def _describe(self, call: p.InstructionArguments) -> tuple[str, str]:
        """Returns the kind and the name of an instruction."""
        match call:
            case p.KernelCall():
                return "kernel", self._plan.operators[call.op_index].full_name
            case p.DelegateCall():
                return "delegate", self._plan.delegates[call.delegate_index].id
            case p.MoveCall():
                return "move", "move"
            case p.JumpFalseCall():
                return "jump", "jump"
        return "free", "free"

    def _roles(self, call: p.InstructionArguments) -> tuple[list[int], list[int], tuple[int, ...]]:
        """Returns the values that an instruction reads and writes.

        Returns:
            The indices of the values that are read, the indices of the values that are written, and the
            positions in the first list of values that are also written.
        """
        match call:
            case p.DelegateCall():
                return call.args, [i for i in call.args if not self._is_constant(i)], ()
            case p.MoveCall():
                return [call.move_from], [call.move_to], ()
            case p.JumpFalseCall():
                return [call.cond_value_index], [], ()
            case p.FreeCall():
                return [], [call.value_index], ()
        op = self._plan.operators[call.op_index]
        library, _, base = op.name.partition("::")
        if base == "et_copy_index":
            return call.args[:3], call.args[:1], (0,)
        if library == "executorch_prim" or library in _COPIES:
            last = call.args[-1]
            return [i for i in call.args[:-1] if i != last], [last], ()
        return operators.roles(operators.find_operator(op.name, op.overload), call.args)

    def _is_constant(self, index: int) -> bool:
        value = self._values[index]
        return isinstance(value, TensorSlot) and value.is_constant

    def _read(self, call: p.InstructionArguments) -> tuple[Any, ...]:
        return tuple(_copy(self._get(index)) for index in self._roles(call)[0])

    def _event(
        self, chain: int, index: int, call: p.InstructionArguments, inputs: tuple[object, ...]
    ) -> InstructionEvent:
        _, writes, in_place = self._roles(call)
        outputs = tuple(_copy(self._get(i)) for i in writes)
        traces = self._plan.chains[chain].stacktrace
        source = None
        if traces and index < len(traces) and traces[index].items:
            frame = traces[index].items[-1]
            source = f"{frame.filename}:{frame.lineno}: {frame.context}"
        return InstructionEvent(chain, index, *self._describe(call), inputs, outputs, in_place, source)


def _copy(value: object) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone(memory_format=torch.preserve_format)
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _is_true(value: object) -> bool:
    return bool(value.all()) if isinstance(value, torch.Tensor) else bool(value)


def _tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for item in result for tensor in _tensors(item)]
