"""The values of one method as C: tensors, numbers, planned memory, inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rushlight.aot_c.code import identifier
from rushlight.aot_c.dtypes import C_TYPES, ELEMENTS, name_of, part_type
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.memory import COPY_INDEX, VIEW, full_name, region_of, usage_of
from rushlight.aot_c.scalars import RULES
from rushlight.aot_c.source import Source
from rushlight.aot_c.values import Argument, Number, Region, TensorValue
from rushlight.format.program import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    ExecutionPlan,
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


@dataclass
class End:
    """An input or output of a method.

    Attributes:
        name: the name of the C parameter; None if the function has no parameter for it.
        index: the index of the value in the plan.
        value: the tensor or number; None before the function is written, or without a parameter.
        c_type: the C type of the number, or of the elements of the tensor.
        title: the name of the input in the model; empty if it is not known.
        is_fixed: whether the caller must pass the number that was used at export.
    """

    name: str | None
    index: int
    value: TensorValue | Number | None
    c_type: str = ""
    title: str = ""
    is_fixed: bool = False


class MethodValues:
    """The values of a method, and the C expressions that refer to them.

    Args:
        source: the shared parts of the file.
        file: the program.
        plan: the method.
        shared: the IDs of the planned memories that several methods use.
        names: the names of the positional inputs.

    Attributes:
        function: the name of the C function of the method.
        usage: which instructions read and write each tensor.
        refusals: messages about inputs and outputs that cannot be written as C.
        inputs: the inputs in the signature.
        outputs: the outputs in the signature.
        computed: indices of the numbers that the function keeps in variables.
        moved: indices of the tensors whose address changes at run time, so that a variable contains it.
        views: for each view, the index of the tensor that it views.
        direct: for each input or output that kernels access in the caller's memory, its parameter and region.
    """

    def __init__(
        self, source: Source, file: PTEFile, plan: ExecutionPlan, shared: set[int], names: Sequence[str]
    ) -> None:
        self.source, self.file, self.plan, self.shared = source, file, plan, shared
        self.function = f"{source.name}_{identifier(plan.name)}"
        self.usage = usage_of(plan)
        self.refusals: list[str] = []
        self.computed: set[int] = set()
        self.moved: set[int] = set()
        self.views: dict[int, int] = {}
        self.direct: dict[int, tuple[str, Region]] = {}
        self._tensors: dict[int, TensorValue] = {}
        self._indexed_outputs: set[int] = set()  # the outputs of et_copy_index
        self._titles = list(names)
        self._read_instructions()
        self.inputs = self._ends(plan.inputs, "in")
        self.outputs = self._ends(plan.outputs, "out")

    def _read_instructions(self) -> None:
        """Finds the computed numbers, the moved tensors, the views and the outputs of et_copy_index."""
        plan = self.plan
        for index in plan.inputs:
            if isinstance(plan.values[index].val, (Int, Bool, Double, Null)):
                self.computed.add(index)
        for chain in plan.chains:
            for instruction in chain.instructions:
                call = instruction.instr_args
                if isinstance(call, MoveCall):
                    target = plan.values[call.move_to].val
                    (self.moved if isinstance(target, Tensor) else self.computed).add(call.move_to)
                elif isinstance(call, KernelCall):
                    self._read_kernel(call)

    def _read_kernel(self, call: KernelCall) -> None:
        name = full_name(self.plan, call.op_index)
        if name in RULES:
            self.computed.add(call.args[-1])
        elif name == COPY_INDEX:
            self._indexed_outputs.add(call.args[0])
        elif name == VIEW and len(call.args) == 3:
            viewed, _, view = call.args
            if self.views.setdefault(view, viewed) != viewed:
                self.moved.add(view)

    def _ends(self, indices: Sequence[int], word: str) -> list[End]:
        ends = []
        for position, index in enumerate(indices):
            value = self.plan.values[index].val
            name = word if len(indices) == 1 else f"{word}{position}"
            title = self._titles[position] if word == "in" and position < len(self._titles) else ""
            if isinstance(value, Tensor):
                if value.scalar_type not in ELEMENTS:
                    self.refusals.append(
                        f"{word}put {position}: the dtype {name_of(value.scalar_type)} is not supported"
                    )
                    continue
                ends.append(End(name, index, None, C_TYPES[part_type(value.scalar_type)], title))
            elif isinstance(value, (Int, Double, Bool)) or (
                isinstance(value, Null) and word == "in" and index in self._numbers_in_use()
            ):
                kind = (
                    "int"
                    if isinstance(value, (Int, Null))
                    else "double"
                    if isinstance(value, Double)
                    else "bool"
                )
                number = Number(kind, None, name)
                is_fixed = word == "in" and index not in self._numbers_in_use()
                ends.append(End(name, index, number, number.c_type, title, is_fixed))
            else:
                ends.append(End(None, index, None, "", title))
        return ends

    def _numbers_in_use(self) -> set[int]:
        """Returns the indices of the values that instructions or outputs read."""
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

    def place_ends(self) -> None:
        """Selects the inputs and outputs that kernels access directly in the caller's memory.

        These are the ones without planned memory, and those whose planned memory nothing else uses. An input
        that the method writes is copied, because the method must not change the caller's memory.
        """
        kept = self._kept_regions()
        for end in self.inputs:
            tensor = self.plan.values[end.index].val
            if isinstance(tensor, Tensor) and end.index not in self.usage.written:
                has_place = end.index in self.direct or end.index in self.moved
                if tensor.allocation_info is None or (not has_place and self._is_alone(end.index, kept)):
                    self._access_directly(end)
        inputs = {end.index for end in self.inputs}
        for end in self.outputs:
            tensor = self.plan.values[end.index].val
            if isinstance(tensor, Tensor) and end.index in self.usage.written - inputs:
                has_place = end.index in self.direct or end.index in self.moved or end.index in self.views
                is_alone = self._is_alone(end.index, kept) and end.index not in self._indexed_outputs
                if not has_place and (tensor.allocation_info is None or is_alone):
                    self._access_directly(end)

    def _access_directly(self, end: End) -> None:
        if end.name is not None:
            self.direct[end.index] = (end.name, _caller_region(end.name))

    def _kept_regions(self) -> list[Region]:
        """Returns planned memory whose contents are not computed in the same run before they are read."""
        tensors = (self.plan.values[index].val for index in self.usage.unwritten | self.usage.state)
        regions = (region_of(tensor) for tensor in tensors if isinstance(tensor, Tensor))
        return [region for region in regions if region is not None]

    def _is_alone(self, index: int, kept: list[Region]) -> bool:
        """Returns whether a tensor has no planned memory, or has some that does not overlap `kept`."""
        tensor = self.plan.values[index].val
        assert isinstance(tensor, Tensor)
        region = region_of(tensor)
        return region is None or (
            index not in self.usage.unwritten and not any(region.overlaps(other) for other in kept)
        )

    def tensor(self, index: int) -> TensorValue:
        """Returns a tensor value.

        Raises:
            Unsupported: the shape is dynamic, or the data is not in the program file.
        """
        known = self._tensors.get(index)
        if known is None:
            known = self._tensors[index] = self._make_tensor(index)
        return known

    def _make_tensor(self, index: int) -> TensorValue:
        tensor = self.plan.values[index].val
        if not isinstance(tensor, Tensor):
            raise Unsupported(f"value {index} is not a tensor")
        if tensor.scalar_type not in ELEMENTS:
            raise Unsupported(f"tensors of {name_of(tensor.scalar_type)} are not supported")
        if tensor.shape_dynamism != TensorShapeDynamism.STATIC and index not in self._indexed_outputs:
            raise Unsupported(
                f"the shape of a {name_of(tensor.scalar_type)} tensor is dynamic, at most {tensor.sizes}; "
                "export the model with static shapes"
            )
        sizes, order = tuple(tensor.sizes), tuple(tensor.dim_order)
        element = ELEMENTS[tensor.scalar_type]
        self.source.dtypes.add(tensor.scalar_type)
        value = TensorValue(index, tensor.scalar_type, sizes, order, "", None)
        if index in self.moved:
            return replace(value, pointer=f"moved_{index}")
        if index in self.views:
            self._check_views_end(index)
            viewed = self.tensor(self.views[index])
            if viewed.numel != value.numel or viewed.dtype != value.dtype:
                raise Unsupported("a view and its base differ in the number of elements or in the dtype")
            return replace(
                value,
                pointer=viewed.pointer,
                region=viewed.region,
                is_constant=viewed.is_constant,
                data=viewed.data,
            )
        if index in self.direct:
            name, region = self.direct[index]
            return replace(value, pointer=name, region=region)
        if tensor.allocation_info is not None:
            planned = region_of(tensor)
            base = self.memory(tensor.allocation_info.memory_id)
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

    def _check_views_end(self, index: int) -> None:
        """Raises Unsupported if a view is, over other views, a view of itself."""
        seen = set()
        while index in self.views:
            if index in seen:
                raise Unsupported("views refer to each other in a cycle")
            seen.add(index)
            index = self.views[index]

    def memory(self, memory_id: int) -> str:
        """Returns the C expression for the address of a planned memory."""
        owner = f"{self.source.name}_shared" if memory_id in self.shared else self.function
        sizes = self.plan.non_const_buffer_sizes
        return self.source.memory(f"{owner}_memory_{memory_id}", sizes[memory_id])

    def number(self, index: int) -> Number:
        """Returns a number value: a constant, or a variable if instructions compute the number.

        Raises:
            Unsupported: the value is not a number.
        """
        value = self.plan.values[index].val
        kind = {Int: "int", Null: "int", Double: "double", Bool: "bool"}.get(type(value))
        if kind is None:
            raise Unsupported(f"value {index} is not a number")
        if index in self.computed:
            return Number(kind, None, f"v{index}")
        if isinstance(value, Int):
            return Number(kind, value.int_val)
        if isinstance(value, Double):
            return Number(kind, value.double_val)
        if isinstance(value, Bool):
            return Number(kind, value.bool_val)
        raise Unsupported(f"value {index} is None, not a number")

    def argument(self, index: int) -> Argument:
        """Returns a value as an argument of a kernel call. A negative index means None."""
        if index < 0:
            return None
        value = self.plan.values[index].val
        if isinstance(value, Tensor):
            return self.tensor(index)
        if isinstance(value, (Int, Double, Bool)) or index in self.computed:
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

    def is_used(self, tensor: TensorValue) -> bool:
        """Returns whether a result has a reader: another instruction, the caller or a later run."""
        if self.usage.users.get(tensor.index, 0) > 1 or tensor.region is None:
            return True
        return any(region.overlaps(tensor.region) for region in self._kept_regions())

    def initial_values(self) -> list[tuple[str, str, int]]:
        """Returns the address, the array and the number of bytes of each initial value of state."""
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
            base = self.memory(tensor.allocation_info.memory_id)
            found.append((f"{base} + {region.start}", name, size))
        return found


def _caller_region(name: str) -> Region:
    """Returns the region of a parameter. It overlaps neither planned memory nor other parameters."""
    return Region(name, 0, 1 << 62)
