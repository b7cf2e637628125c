"""One method as a C function: its signature and its instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from rushlight.aot_c.code import Code, literal
from rushlight.aot_c.dtypes import BOOL, DOUBLE, ELEMENTS, LONG, name_of
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.table import GENERATORS
from rushlight.aot_c.kernel import Kernel
from rushlight.aot_c.memory import COPY_INDEX, VIEW, full_name, region_of, tensors_in
from rushlight.aot_c.method_values import End, MethodValues
from rushlight.aot_c.scalars import RULES, is_false
from rushlight.aot_c.source import Source, is_named, wrapped
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import (
    Bool,
    DelegateCall,
    Double,
    ExecutionPlan,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    String,
    Tensor,
    TensorList,
)
from rushlight.format.pte import PTEFile

_COMPUTE = {"int": LONG, "double": DOUBLE, "bool": BOOL}


@dataclass
class MethodText:
    """The C source text of a method.

    Attributes:
        name: the name of the method.
        function: the name of its C function.
        inputs: the inputs of the method.
        outputs: the outputs of the method.
        text: the definition of the function.
        signature: the signature of the function, without a semicolon.
        state_bytes: the bytes of planned memory that keep their values between calls.
        memory_bytes: the bytes of planned memory.
        initial: the address, the array and the number of bytes of each initial value of state.
    """

    name: str
    function: str
    inputs: list[End]
    outputs: list[End]
    text: str
    signature: str
    state_bytes: int = 0
    memory_bytes: int = 0
    initial: list[tuple[str, str, int]] = field(default_factory=list)


class MethodWriter:
    """Writes the function of a method.

    Args:
        source: the shared parts of the file.
        file: the program.
        plan: the method.
        shared: the IDs of the planned memories that several methods use.
        names: the names of the positional inputs.

    Attributes:
        values: the values of the method.
        refusals: messages about the parts of the method that cannot be written as C.
        code: the body of the function.
    """

    def __init__(
        self, source: Source, file: PTEFile, plan: ExecutionPlan, shared: set[int], names: Sequence[str]
    ) -> None:
        self.source, self.plan = source, plan
        self.values = MethodValues(source, file, plan, shared, names)
        self.refusals = self.values.refusals
        self.code = Code()

    def write(self) -> MethodText:
        """Writes the function. Calls that cannot be written are added to `refusals`."""
        self.values.place_ends()
        self._begin()
        for chain_index, chain in enumerate(self.plan.chains):
            targets = {
                call.destination_instruction
                for instruction in chain.instructions
                if isinstance(call := instruction.instr_args, JumpFalseCall)
            }
            for position, instruction in enumerate(chain.instructions):
                if position in targets:
                    self._label(chain_index, position)
                with self._recording_refusals(partial(self._where, chain_index, position)):
                    self._instruction(instruction, chain_index)
            if len(chain.instructions) in targets:
                self._label(chain_index, len(chain.instructions))
        with self._recording_refusals(self._method):
            self._finish()
        return self._text()

    @contextmanager
    def _recording_refusals(self, where: Callable[[], str]) -> Iterator[None]:
        """Returns a context that adds an `Unsupported` error to `refusals`, so that others are found too.

        Args:
            where: returns the description of the place, which precedes the reason.
        """
        try:
            yield
        except Unsupported as error:
            self.refusals.append(f"{where()}: {error}")

    def _method(self) -> str:
        return f"method '{self.plan.name}'"

    def _where_input(self, end: End) -> str:
        return f"{self._method()}, input {end.title or end.name}"

    def _label(self, chain: int, position: int) -> None:
        self.code.lines.append(f"{self._label_name(chain, position)}:;")

    def _label_name(self, chain: int, position: int) -> str:
        return f"step_{position}" if chain == 0 else f"step_{chain}_{position}"

    def _where(self, chain: int, position: int) -> str:
        """Describes an instruction: the operator with its tensors, and the line of the user's Python code."""
        instructions, traces = self.plan.chains[chain].instructions, self.plan.chains[chain].stacktrace
        call = instructions[position].instr_args
        text = f"method '{self.plan.name}', instruction {position}"
        if isinstance(call, KernelCall):
            shown = []
            for index in call.args[:-1]:
                for tensor_index in tensors_in(self.plan, index):
                    tensor = self.plan.values[tensor_index].val
                    assert isinstance(tensor, Tensor)
                    shown.append(f"{name_of(tensor.scalar_type)}{tensor.sizes}")
            text += f" ({full_name(self.plan, call.op_index)} of {', '.join(shown) or 'numbers'})"
        if traces and position < len(traces) and traces[position].items:
            frame = traces[position].items[-1]
            text += f", {frame.filename}:{frame.lineno}"
        return text

    def _instruction(self, instruction: Instruction, chain: int) -> None:
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            self._kernel(call)
        elif isinstance(call, DelegateCall):
            backend = self.plan.delegates[call.delegate_index].id
            raise Unsupported(
                f"a part of the model is made for {backend}; compile it without a backend: "
                "rushlight.compile(model, inputs, partitioner=())"
            )
        elif isinstance(call, MoveCall):
            self._move(call)
        elif isinstance(call, JumpFalseCall):
            self._jump(call, chain)
        else:
            assert isinstance(call, FreeCall)

    def _kernel(self, call: KernelCall) -> None:
        name = full_name(self.plan, call.op_index)
        if name == VIEW:
            if len(call.args) != 3:
                raise Unsupported(f"the call has {len(call.args)} arguments, not 3")
            viewed, out = self.values.tensor(call.args[0]), self.values.tensor(call.args[2])
            if call.args[2] in self.values.moved:
                self.code.add(f"{out.pointer} = {viewed.pointer};")
            return
        if name in RULES:
            self._scalar(name, call)
            return
        generate = GENERATORS.get(name)
        if name == COPY_INDEX:
            generate = _copy_index
        if generate is None:
            raise Unsupported("there is no C for this operator")
        k = Kernel(name, [self.values.argument(index) for index in call.args], self.values.is_used)
        generate(k)
        self.source.operators.add(name)
        if not any(parameter.writes for parameter in k.parameters):
            return  # all results are empty or already in their memory
        no_alias = k.check_overlaps()
        body = k.code.text
        parameters = [p for p in k.parameters if is_named(body, p.name)]
        function = self.source.function(k, parameters, no_alias)
        call_text = wrapped(f"{function}(", [p.argument for p in parameters], ");", "  ")
        if k.can_fail:
            text = wrapped(f"if ({function}(", [p.argument for p in parameters], ") != 0) return 1;", "  ")
            self.code.lines.append(text)
        else:
            self.code.lines.append(call_text)

    def _scalar(self, name: str, call: KernelCall) -> None:
        k = Kernel(name, [self.values.argument(index) for index in call.args[:-1]], self.values.is_used)
        scalar = RULES[name](k)
        self.source.helpers |= k.needs
        self.source.headers |= k.headers
        self.source.operators.add(name)
        target = self.values.number(call.args[-1])
        if scalar.kind == "double" and target.kind != "double":
            raise Unsupported(
                f"a result of type {scalar.kind} cannot be assigned to a number of type {target.kind}"
            )
        if scalar.fails:
            self.code.add(f"if ({scalar.fails}) return 1;")
        self.code.add(f"{target.name} = {scalar.text};")

    def _move(self, call: MoveCall) -> None:
        source, target = self.plan.values[call.move_from].val, self.plan.values[call.move_to].val
        if isinstance(target, Tensor) and isinstance(source, Tensor):
            a, b = self.values.tensor(call.move_from), self.values.tensor(call.move_to)
            if (a.dtype, a.sizes, a.strides) != (b.dtype, b.sizes, b.strides):
                raise Unsupported(
                    f"{a.describe()} cannot replace {b.describe()}: dtype, shape or strides differ"
                )
            cast = f"({ELEMENTS[b.dtype]} *)" if a.is_constant or call.move_from in self.values.direct else ""
            self.code.add(f"{b.pointer} = {cast}{a.pointer};")
            return
        if isinstance(target, Tensor) or isinstance(source, (Tensor, String, TensorList, IntList)):
            raise Unsupported("only tensors and numbers can be moved")
        number = self.values.number(call.move_to)
        self.code.add(f"{number.name} = {self.values.number(call.move_from).to(_COMPUTE[number.kind])};")

    def _jump(self, call: JumpFalseCall, chain: int) -> None:
        label = self._label_name(chain, call.destination_instruction)
        condition = self.values.argument(call.cond_value_index)
        if isinstance(condition, Number) and condition.value is not None:
            if not condition.value:
                self.code.add(f"goto {label};")
            return
        assert isinstance(condition, (Number, TensorValue))
        k = Kernel("jump", [], self.values.is_used)
        self.code.add(f"if ({is_false(k, condition)}) goto {label};")

    def _begin(self) -> None:
        """Declares variables, checks numbers that export fixed, and copies inputs to planned memory."""
        code = self.code
        inputs = {end.index: end for end in self.values.inputs if end.name is not None}
        for index in sorted(self.values.computed):
            with self._recording_refusals(self._method):
                self._declare_number(index, inputs.get(index))
        for index in sorted(self.values.moved):
            with self._recording_refusals(self._method):
                self._declare_moved(index)
        for end in self.values.inputs:
            if end.is_fixed and isinstance(end.value, Number):
                value = self.plan.values[end.index].val
                if isinstance(value, Int):
                    code.add(f"if ({end.name} != {literal(value.int_val, LONG)}) return 1;")
                elif isinstance(value, Bool):
                    code.add(f"if ({'!' if value.bool_val else ''}{end.name}) return 1;")
                elif isinstance(value, Double):
                    code.add(f"if (!({end.name} == {literal(value.double_val, DOUBLE)})) return 1;")
            if end.name is None or not isinstance(self.plan.values[end.index].val, Tensor):
                continue
            with self._recording_refusals(partial(self._where_input, end)):
                tensor = self.values.tensor(end.index)
                end.value = tensor
                if end.index not in self.values.direct and tensor.numel:
                    self._copy(tensor.pointer, end.name, tensor)

    def _declare_number(self, index: int, end: End | None) -> None:
        """Declares the variable of a number that instructions compute, or of an input `end` of the method."""
        number = self.values.number(index)
        if end is not None and end.is_fixed:
            return
        if end is not None:
            first = str(end.name)
        else:
            value = self.plan.values[index].val
            given: int | float | bool = 0
            if isinstance(value, Int):
                given = value.int_val
            elif isinstance(value, Double):
                given = value.double_val
            elif isinstance(value, Bool):
                given = value.bool_val
            first = literal(given, _COMPUTE[number.kind])
        self.code.add(f"{number.c_type} v{index} = {first};")

    def _declare_moved(self, index: int) -> None:
        value = self.values.tensor(index)
        tensor = self.plan.values[index].val
        assert isinstance(tensor, Tensor)
        element = ELEMENTS[value.dtype]
        first = f"({element} *)0"
        if tensor.allocation_info is not None and index not in self.values.views:
            base = self.values.memory(tensor.allocation_info.memory_id)
            first = f"({element} *)({base} + {tensor.allocation_info.memory_offset})"
        for end in self.values.outputs:
            if end.index == index and tensor.allocation_info is None and end.name is not None:
                first = f"({element} *){end.name}"
        self.code.add(f"{element} *{value.pointer} = {first};")

    def _copy(self, target: str, source: str, tensor: TensorValue) -> None:
        self.source.headers.add("string.h")
        self.code.add(f"memcpy({target}, {source}, {tensor.numel * tensor.item_size});")

    def _finish(self) -> None:
        """Copies results to the memory of the caller."""
        seen: set[str] = set()
        for end in self.values.outputs:
            value = self.plan.values[end.index].val
            if end.name is None:
                continue
            if not isinstance(value, Tensor):
                number = self.values.number(end.index)
                self.code.add(f"*{end.name} = {number.to(_COMPUTE[number.kind])};")
                continue
            tensor = self.values.tensor(end.index)
            end.value = tensor
            if tensor.numel == 0 or (tensor.pointer == end.name and end.name not in seen):
                seen.add(end.name)
                continue
            if end.index in self.values.moved:
                self.source.headers.add("string.h")
                size = tensor.numel * tensor.item_size
                self.code.add(f"if ((void *){tensor.pointer} != (void *){end.name}) {{")
                self.code.add(f"  memcpy({end.name}, {tensor.pointer}, {size});")
                self.code.add("}")
                continue
            self._copy(end.name, tensor.pointer, tensor)

    def _text(self) -> MethodText:
        parameters = []
        body = self.code.text
        for end in self.values.inputs:
            if end.name is not None:
                is_tensor = isinstance(self.plan.values[end.index].val, Tensor)
                parameters.append(
                    f"const {end.c_type} *{end.name}" if is_tensor else f"{end.c_type} {end.name}"
                )
                if not is_named(body, end.name):
                    body = f"  (void){end.name};\n{body}"
        for end in self.values.outputs:
            if end.name is not None:
                parameters.append(f"{end.c_type} *{end.name}")
                if not is_named(body, end.name):
                    body = f"  (void){end.name};\n{body}"
        body += "".join(f"\n  (void){name};" for name in self._unread(body))
        signature = wrapped(f"int {self.values.function}(", parameters or ["void"], ")")
        initial = self.values.initial_values()
        text = f"{signature} {{\n{body}\n  return 0;\n}}"
        states = [
            region
            for index in self.values.usage.state
            if isinstance((tensor := self.plan.values[index].val), Tensor)
            and (region := region_of(tensor)) is not None
        ]
        return MethodText(
            self.plan.name,
            self.values.function,
            self.values.inputs,
            self.values.outputs,
            text,
            signature,
            state_bytes=sum(region.end - region.start for region in states),
            memory_bytes=sum(self.plan.non_const_buffer_sizes),
            initial=initial,
        )

    def _unread(self, body: str) -> list[str]:
        """Returns the variables that the body assigns but never reads, about which compilers warn."""
        names = [f"moved_{index}" for index in sorted(self.values.moved)]
        names += [f"v{index}" for index in sorted(self.values.computed)]
        return [n for n in names if is_named(body, n) and not re.search(rf"\b{n}\b(?! = )", body)]


def _copy_index(k: Kernel) -> None:
    """Writes et_copy_index: copies a tensor to one slice of another tensor. The index is the loop counter."""
    target, source, index = k.tensor(0), k.tensor(1), k.number(2)
    k.require(
        target.rank == source.rank + 1 and target.dtype == source.dtype, "the slice has another rank or dtype"
    )
    k.require(list(target.sizes[1:]) == list(source.sizes), "the slice has another shape")
    k.require(target.is_row_major and source.is_row_major, "a tensor is not in row-major order")
    place = k.number_value(index, "index").to(LONG)
    k.fail_if(f"{place} < 0 || {place} >= {target.sizes[0]}")
    if source.numel:
        k.headers.add("string.h")
        to, item = k.write(target), k.read(source, "item")
        size = source.numel * source.item_size
        k.code.add(f"memcpy({to} + (ptrdiff_t){place} * {source.numel}, {item}, {size});")
