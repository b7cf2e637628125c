"""One method as a C function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rushlight.aot_c.code import Code, identifier, literal
from rushlight.aot_c.dtypes import BOOL, C_TYPES, DOUBLE, ELEMENTS, LONG, name_of
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.table import GENERATORS
from rushlight.aot_c.kernel import Kernel
from rushlight.aot_c.memory import COPY_INDEX, VIEW, full_name, region_of, tensors_in, usage_of
from rushlight.aot_c.scalars import RULES, is_false
from rushlight.aot_c.source import Source, is_named, wrapped
from rushlight.aot_c.values import Argument, Number, Region, TensorValue
from rushlight.format.program import (
    Bool,
    BoolList,
    DelegateCall,
    Double,
    DoubleList,
    ExecutionPlan,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    String,
    Tensor,
    TensorDataLocation,
    TensorList,
    TensorShapeDynamism,
)
from rushlight.format.pte import PTEFile

_COMPUTE = {"int": LONG, "double": DOUBLE, "bool": BOOL}


@dataclass
class End:
    """An input or output in the signature.

    Attributes:
        name: the name of the parameter; None if there is none.
        index: the index of the value.
        value: a tensor, or a number.
        c_type: the type of the parameter's elements.
        title: the name in the model, if there is one.
        is_fixed: whether a number must be that of the export.
    """

    name: str | None
    index: int
    value: TensorValue | Number | None
    c_type: str = ""
    title: str = ""
    is_fixed: bool = False


@dataclass
class MethodText:
    """A finished method.

    Attributes:
        name: the name of the method.
        function: the name of its C function.
        inputs: what the caller gives.
        outputs: what the caller gets.
        text: the definition of the function.
        state_bytes: the bytes of planned memory that keep their values between calls.
        memory_bytes: the bytes of planned memory.
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
        shared: the planned memories that methods share.
        names: the names of the positional inputs.
    """

    def __init__(
        self, source: Source, file: PTEFile, plan: ExecutionPlan, shared: set[int], names: Sequence[str]
    ) -> None:
        self.source, self.file, self.plan, self.shared = source, file, plan, shared
        self.function = f"{source.name}_{identifier(plan.name)}"
        self.usage = usage_of(plan)
        self.refusals: list[str] = []
        self.code = Code()
        self._numbers: dict[int, Number] = {}
        self._tensors: dict[int, TensorValue] = {}
        self._views: dict[int, int] = {}
        self._moved: set[int] = set()
        self._growing: set[int] = set()
        self._computed: set[int] = set()
        self._direct: dict[int, tuple[str, Region]] = {}
        self._titles = list(names)
        self._read_instructions()
        self.inputs = self._ends(plan.inputs, "in")
        self.outputs = self._ends(plan.outputs, "out")

    # ---- Values ----

    def _read_instructions(self) -> None:
        """Finds which values are computed, moved, views and grown."""
        plan = self.plan
        for index in plan.inputs:
            if isinstance(plan.values[index].val, (Int, Bool, Double, Null)):
                self._computed.add(index)
        for chain in plan.chains:
            for instruction in chain.instructions:
                call = instruction.instr_args
                if isinstance(call, MoveCall):
                    target = plan.values[call.move_to].val
                    (self._moved if isinstance(target, Tensor) else self._computed).add(call.move_to)
                elif isinstance(call, KernelCall):
                    name = full_name(plan, call.op_index)
                    if name in RULES:
                        self._computed.add(call.args[-1])
                    elif name == COPY_INDEX:
                        self._growing.add(call.args[0])
                    elif name == VIEW:
                        known = self._views.setdefault(call.args[2], call.args[0])
                        if known != call.args[0]:
                            self._moved.add(call.args[2])

    def _ends(self, indices: Sequence[int], word: str) -> list[End]:
        ends = []
        for position, index in enumerate(indices):
            value = self.plan.values[index].val
            name = word if len(indices) == 1 else f"{word}{position}"
            title = self._titles[position] if word == "in" and position < len(self._titles) else ""
            if isinstance(value, Tensor):
                if value.scalar_type not in ELEMENTS:
                    self.refusals.append(f"{word}put {position} is of {name_of(value.scalar_type)}")
                    continue
                ends.append(End(name, index, None, C_TYPES[value.scalar_type], title))
            elif isinstance(value, (Int, Double, Bool)) or (
                isinstance(value, Null) and word == "in" and index in self._read_numbers()
            ):
                kind = (
                    "int"
                    if isinstance(value, (Int, Null))
                    else "double"
                    if isinstance(value, Double)
                    else "bool"
                )
                number = Number(kind, None, name)
                is_fixed = word == "in" and index not in self._read_numbers()
                ends.append(End(name, index, number, number.c_type, title, is_fixed))
            else:
                ends.append(End(None, index, None, "", title))
        return ends

    def _read_numbers(self) -> set[int]:
        """The scalar values that instructions or outputs read."""
        found = set(self.plan.outputs)
        for chain in self.plan.chains:
            for instruction in chain.instructions:
                call = instruction.instr_args
                if isinstance(call, KernelCall):
                    found |= set(call.args)
                elif isinstance(call, MoveCall):
                    found.add(call.move_from)
                elif isinstance(call, JumpFalseCall):
                    found.add(call.cond_value_index)
        for value in self.plan.values:
            if isinstance(value.val, IntList):
                found |= set(value.val.items)
        return found

    def _place_ends(self) -> None:
        """Selects the inputs and outputs that kernels use directly in the caller's memory."""
        others = [
            region
            for index in self.usage.unwritten | self.usage.state
            if isinstance((tensor := self.plan.values[index].val), Tensor)
            and (region := region_of(tensor)) is not None
        ]

        def is_alone(index: int) -> bool:
            tensor = self.plan.values[index].val
            assert isinstance(tensor, Tensor)
            mine = region_of(tensor)
            return (
                mine is None
                or index not in self.usage.unwritten
                and not any(mine.overlaps(other) for other in others)
            )

        inputs = {end.index for end in self.inputs}
        for end in self.inputs:
            tensor = self.plan.values[end.index].val
            if not isinstance(tensor, Tensor) or end.name is None:
                continue
            is_written = end.index in self.usage.written
            if end.index in self._direct or is_written or end.index in self._moved or not is_alone(end.index):
                if tensor.allocation_info is None and not is_written:
                    self._direct[end.index] = (end.name, self._own_region(end.name))
                continue
            self._direct[end.index] = (end.name, self._own_region(end.name))
        for end in self.outputs:
            tensor = self.plan.values[end.index].val
            if not isinstance(tensor, Tensor) or end.name is None or end.index in inputs:
                continue
            if end.index in self._direct or end.index in self._moved or end.index in self._views:
                continue
            if end.index not in self.usage.written:
                continue
            if tensor.allocation_info is None or (is_alone(end.index) and end.index not in self._growing):
                self._direct[end.index] = (end.name, self._own_region(end.name))

    def _own_region(self, name: str) -> Region:
        return Region(name, 0, 1 << 62)

    def tensor(self, index: int) -> TensorValue:
        """A tensor value.

        Raises:
            Unsupported: its shape is dynamic, or its data are not in the file.
        """
        known = self._tensors.get(index)
        if known is None:
            known = self._tensors[index] = self._make_tensor(index)
        return known

    def _make_tensor(self, index: int) -> TensorValue:
        tensor = self.plan.values[index].val
        assert isinstance(tensor, Tensor)
        if tensor.scalar_type not in ELEMENTS:
            raise Unsupported(f"tensors of {name_of(tensor.scalar_type)} are not supported")
        if tensor.shape_dynamism != TensorShapeDynamism.STATIC and index not in self._growing:
            raise Unsupported(
                f"the shape of a {name_of(tensor.scalar_type)} tensor is dynamic, at most {tensor.sizes}; "
                "export the model with static shapes"
            )
        sizes, order = tuple(tensor.sizes), tuple(tensor.dim_order)
        element = ELEMENTS[tensor.scalar_type]
        self.source.dtypes.add(tensor.scalar_type)
        value = TensorValue(index, tensor.scalar_type, sizes, order, "", None)
        if index in self._moved:
            return replace(value, pointer=f"moved_{index}")
        if index in self._views:
            viewed = self.tensor(self._views[index])
            if viewed.numel != value.numel or viewed.dtype != value.dtype:
                raise Unsupported("a view has another number of elements than its tensor")
            return replace(
                value,
                pointer=viewed.pointer,
                region=viewed.region,
                is_constant=viewed.is_constant,
                data=viewed.data,
            )
        if index in self._direct:
            name, region = self._direct[index]
            return replace(value, pointer=name, region=region)
        if tensor.allocation_info is not None:
            planned = region_of(tensor)
            base = self._memory(tensor.allocation_info.memory_id)
            offset = tensor.allocation_info.memory_offset
            pointer = f"({element} *)({base} + {offset})" if offset else f"({element} *){base}"
            return replace(value, pointer=pointer, region=planned)
        extra = tensor.extra_tensor_info
        if extra is not None and extra.location == TensorDataLocation.EXTERNAL:
            raise Unsupported(f"the constant {extra.fully_qualified_name!r} is in a data file (.ptd)")
        if tensor.data_buffer_idx > 0:
            data = bytes(self.file.constants[tensor.data_buffer_idx])[: value.numel * value.item_size]
            name = self.source.constant(tensor.data_buffer_idx, tensor.scalar_type, data)
            return replace(value, pointer=name, region=Region(name, 0, 1 << 62), is_constant=True, data=data)
        if value.numel == 0:
            return replace(value, pointer=f"({element} *)0", region=Region(f"empty{index}", 0, 0))
        raise Unsupported(f"a tensor {value.describe()} has no planned memory")

    def _memory(self, memory_id: int) -> str:
        owner = f"{self.source.name}_shared" if memory_id in self.shared else self.function
        sizes = self.plan.non_const_buffer_sizes
        return self.source.memory(f"{owner}_memory_{memory_id}", sizes[memory_id])

    def number(self, index: int) -> Number:
        """A number value: a constant, or a variable if instructions compute it."""
        value = self.plan.values[index].val
        kind = {Int: "int", Null: "int", Double: "double", Bool: "bool"}[type(value)]
        if index in self._computed:
            return Number(kind, None, f"v{index}")
        if isinstance(value, Int):
            return Number(kind, value.int_val)
        if isinstance(value, Double):
            return Number(kind, value.double_val)
        assert isinstance(value, Bool)
        return Number(kind, value.bool_val)

    def argument(self, index: int) -> Argument:
        """A value as an argument of a call."""
        if index < 0:
            return None
        value = self.plan.values[index].val
        if isinstance(value, Tensor):
            return self.tensor(index)
        if isinstance(value, (Int, Double, Bool)) or index in self._computed:
            return self.number(index)
        if isinstance(value, Null):
            return None
        if isinstance(value, String):
            return value.string_val
        if isinstance(value, IntList):
            return [self.number(item) for item in value.items]
        if isinstance(value, (DoubleList, BoolList)):
            return list(value.items)
        assert isinstance(value, (TensorList, OptionalTensorList))
        return [self.tensor(item) if item >= 0 else None for item in value.items]

    def _is_used(self, tensor: TensorValue) -> bool:
        """Whether anything reads a result: another instruction, the caller or a later run."""
        if self.usage.users.get(tensor.index, 0) > 1 or tensor.region is None:
            return True
        return any(
            region is not None and region.overlaps(tensor.region)
            for index in self.usage.unwritten | self.usage.state
            if isinstance((other := self.plan.values[index].val), Tensor)
            for region in (region_of(other),)
        )

    # ---- Instructions ----

    def write(self) -> MethodText:
        """Writes the function. Calls that cannot be written are added to `refusals`."""
        self._place_ends()
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
                try:
                    self._instruction(instruction, chain_index)
                except Unsupported as error:
                    self.refusals.append(f"{self._where(chain_index, position)}: {error}")
            if len(chain.instructions) in targets:
                self._label(chain_index, len(chain.instructions))
        try:
            self._finish()
        except Unsupported as error:
            self.refusals.append(f"method '{self.plan.name}': {error}")
        return self._text()

    def _label(self, chain: int, position: int) -> None:
        self.code.lines.append(f"{self._label_name(chain, position)}:;")

    def _label_name(self, chain: int, position: int) -> str:
        return f"step_{position}" if chain == 0 else f"step_{chain}_{position}"

    def _where(self, chain: int, position: int) -> str:
        """The place of an instruction: the operator with its tensors, and the line of the user's Python."""
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
            viewed, out = self.tensor(call.args[0]), self.tensor(call.args[2])
            if call.args[2] in self._moved:
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
        k = Kernel(name, [self.argument(index) for index in call.args], self._is_used)
        generate(k)
        self.source.operators.add(name)
        if not any(parameter.writes for parameter in k.parameters):
            return  # all results are empty or in their places
        apart = k.check_overlaps()
        body = k.code.text
        parameters = [p for p in k.parameters if is_named(body, p.name)]
        function = self.source.function(k, parameters, apart)
        call_text = wrapped(f"{function}(", [p.argument for p in parameters], ");", "  ")
        if k.can_fail:
            text = wrapped(f"if ({function}(", [p.argument for p in parameters], ") != 0) return 1;", "  ")
            self.code.lines.append(text)
        else:
            self.code.lines.append(call_text)

    def _scalar(self, name: str, call: KernelCall) -> None:
        k = Kernel(name, [self.argument(index) for index in call.args[:-1]], self._is_used)
        scalar = RULES[name](k)
        self.source.helpers |= k.needs
        self.source.headers |= k.headers
        self.source.operators.add(name)
        target = self.number(call.args[-1])
        if scalar.kind == "double" and target.kind != "double":
            raise Unsupported(f"a {scalar.kind} is assigned to a number of kind {target.kind}")
        if scalar.fails:
            self.code.add(f"if ({scalar.fails}) return 1;")
        self.code.add(f"{target.name} = {scalar.text};")

    def _move(self, call: MoveCall) -> None:
        source, target = self.plan.values[call.move_from].val, self.plan.values[call.move_to].val
        if isinstance(target, Tensor) and isinstance(source, Tensor):
            a, b = self.tensor(call.move_from), self.tensor(call.move_to)
            if (a.dtype, a.sizes, a.strides) != (b.dtype, b.sizes, b.strides):
                raise Unsupported(f"the value of {b.describe()} becomes {a.describe()}")
            cast = f"({ELEMENTS[b.dtype]} *)" if a.is_constant or call.move_from in self._direct else ""
            self.code.add(f"{b.pointer} = {cast}{a.pointer};")
            return
        if isinstance(target, Tensor) or isinstance(source, (Tensor, String, TensorList, IntList)):
            raise Unsupported("a value of this kind is moved")
        number = self.number(call.move_to)
        self.code.add(f"{number.name} = {self.number(call.move_from).to(_COMPUTE[number.kind])};")

    def _jump(self, call: JumpFalseCall, chain: int) -> None:
        label = self._label_name(chain, call.destination_instruction)
        condition = self.argument(call.cond_value_index)
        if isinstance(condition, Number) and condition.value is not None:
            if not condition.value:
                self.code.add(f"goto {label};")
            return
        assert isinstance(condition, (Number, TensorValue))
        k = Kernel("jump", [], self._is_used)
        self.code.add(f"if ({is_false(k, condition)}) goto {label};")

    # ---- Begin and end ----

    def _begin(self) -> None:
        """Declares variables, checks fixed numbers and copies inputs into planned memory."""
        code = self.code
        inputs = {end.index: end for end in self.inputs if end.name is not None}
        for index in sorted(self._computed):
            number = self.number(index)
            end = inputs.get(index)
            if end is not None and end.is_fixed:
                continue
            if end is not None:
                first = str(end.name)
            else:
                value = self.plan.values[index].val
                given = value.int_val if isinstance(value, Int) else 0
                if isinstance(value, Double):
                    given = value.double_val  # type: ignore[assignment]
                if isinstance(value, Bool):
                    given = value.bool_val
                first = literal(given, _COMPUTE[number.kind])
            code.add(f"{number.c_type} v{index} = {first};")
        for index in sorted(self._moved):
            try:
                self._declare_moved(index)
            except Unsupported as error:
                self.refusals.append(f"method '{self.plan.name}': {error}")
        for end in self.inputs:
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
            try:
                tensor = self.tensor(end.index)
                end.value = tensor
                if end.index not in self._direct and tensor.numel:
                    self._copy(tensor.pointer, end.name, tensor)
            except Unsupported as error:
                self.refusals.append(f"method '{self.plan.name}', input {end.title or end.name}: {error}")

    def _declare_moved(self, index: int) -> None:
        value = self.tensor(index)
        tensor = self.plan.values[index].val
        assert isinstance(tensor, Tensor)
        element = ELEMENTS[value.dtype]
        first = f"({element} *)0"
        if tensor.allocation_info is not None and index not in self._views:
            base = self._memory(tensor.allocation_info.memory_id)
            first = f"({element} *)({base} + {tensor.allocation_info.memory_offset})"
        for end in self.outputs:
            if end.index == index and tensor.allocation_info is None and end.name is not None:
                first = f"({element} *){end.name}"
        self.code.add(f"{element} *{value.pointer} = {first};")

    def _copy(self, target: str, source: str, tensor: TensorValue) -> None:
        self.source.headers.add("string.h")
        self.code.add(f"memcpy({target}, {source}, {tensor.numel * tensor.item_size});")

    def _finish(self) -> None:
        """Copies results to the caller."""
        seen: set[str] = set()
        for end in self.outputs:
            value = self.plan.values[end.index].val
            if end.name is None:
                continue
            if not isinstance(value, Tensor):
                self.code.add(
                    f"*{end.name} = {self.number(end.index).to(_COMPUTE[self.number(end.index).kind])};"
                )
                continue
            tensor = self.tensor(end.index)
            end.value = tensor
            if tensor.numel == 0 or (tensor.pointer == end.name and end.name not in seen):
                seen.add(end.name)
                continue
            if end.index in self._moved:
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
        for end in self.inputs:
            if end.name is not None:
                is_tensor = isinstance(self.plan.values[end.index].val, Tensor)
                parameters.append(
                    f"const {end.c_type} *{end.name}" if is_tensor else f"{end.c_type} {end.name}"
                )
                if not is_named(body, end.name):
                    body = f"  (void){end.name};\n{body}"
        for end in self.outputs:
            if end.name is not None:
                parameters.append(f"{end.c_type} *{end.name}")
                if not is_named(body, end.name):
                    body = f"  (void){end.name};\n{body}"
        signature = wrapped(f"int {self.function}(", parameters or ["void"], ")")
        initial = self._initial_values()
        text = f"{signature} {{\n{body}\n  return 0;\n}}"
        states = [
            region
            for index in self.usage.state
            if isinstance((tensor := self.plan.values[index].val), Tensor)
            and (region := region_of(tensor)) is not None
        ]
        return MethodText(
            self.plan.name,
            self.function,
            self.inputs,
            self.outputs,
            text,
            signature,
            state_bytes=sum(region.end - region.start for region in states),
            memory_bytes=sum(self.plan.non_const_buffer_sizes),
            initial=initial,
        )

    def _initial_values(self) -> list[tuple[str, str, int]]:
        """The address, the array and the bytes of each initial value of state."""
        found = []
        for value in self.plan.values:
            tensor = value.val
            if (
                not isinstance(tensor, Tensor)
                or tensor.allocation_info is None
                or tensor.data_buffer_idx == 0
            ):
                continue
            region = region_of(tensor)
            if region is None:
                continue
            size = region.end - region.start
            data = bytes(self.file.mutable_data[tensor.data_buffer_idx])[:size]
            name = self.source.constant(-tensor.data_buffer_idx, tensor.scalar_type, data)
            base = self._memory(tensor.allocation_info.memory_id)
            found.append((f"{base} + {region.start}", name, size))
        return found


def _copy_index(k: Kernel) -> None:
    """Copies a tensor into the slice of another one at an index that a loop counts."""
    target, source, index = k.tensor(0), k.tensor(1), k.number(2)
    k.require(
        target.rank == source.rank + 1 and target.dtype == source.dtype, "the item does not suit the tensor"
    )
    k.require(list(target.sizes[1:]) == list(source.sizes), "the item does not suit the tensor")
    k.require(target.is_row_major and source.is_row_major, "a tensor is not in row-major order")
    place = k.number_value(index, "index").to(LONG)
    k.fail_if(f"{place} < 0 || {place} >= {target.sizes[0]}")
    if source.numel:
        k.headers.add("string.h")
        to, item = k.write(target), k.read(source, "item")
        size = source.numel * source.item_size
        k.code.add(f"memcpy({to} + (ptrdiff_t){place} * {source.numel}, {item}, {size});")
