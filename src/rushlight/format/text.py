"""Formats a program as text for people. No function parses this text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rushlight.format.buffers import byte_view
from rushlight.format.dtypes import DTYPE_NAMES
from rushlight.format.program import (
    Bool,
    BoolList,
    Chain,
    DelegateCall,
    DeviceType,
    Double,
    DoubleList,
    ExecutionPlan,
    FrameList,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    KernelTypes,
    MoveCall,
    OptionalTensorList,
    ScalarType,
    String,
    Tensor,
    TensorDataLocation,
    TensorList,
    TensorShapeDynamism,
)
from rushlight.format.pte import PTEFile


def format_pte(file: PTEFile) -> str:
    """Returns a program as text: the memory, values and instructions of each method, then the data."""
    lines = [f"program, version {file.program.version}"]
    for plan in file.program.execution_plan:
        lines += ["", *format_method(plan)]
    data = list(_data(file))
    return "\n".join([*lines, "", *data] if data else lines) + "\n"


def format_method(plan: ExecutionPlan) -> Iterator[str]:
    """Yields the lines of one method. A value is written as % and its index, for example %0."""
    yield f"method {plan.name}({_values(plan.inputs)}) -> ({_values(plan.outputs)})"
    devices = {device.buffer_idx: device for device in plan.non_const_buffer_device or []}
    for number, size in enumerate(plan.non_const_buffer_sizes):
        if number:
            device = devices.get(number)
            on_device = "" if device is None else f" on {_device(device.device_type, device.device_index)}"
            yield f"  memory {number}: {size} bytes{on_device}"
    for number, delegate in enumerate(plan.delegates):
        specs = ", ".join(f"{spec.key}={spec.value!r}" for spec in delegate.compile_specs)
        yield f"  delegate {number}: {delegate.id}({specs}), data {delegate.processed.index}"
    yield "  values"
    for number, value in enumerate(plan.values):
        yield f"    %{number} = {format_value(value.val)}"
    for number, chain in enumerate(plan.chains):
        yield f"  chain {number}" if len(plan.chains) > 1 else "  instructions"
        yield from _chain(plan, chain)


def format_value(value: KernelTypes) -> str:
    """Returns the text of a value, such as `float32[2, 3] in memory 1 at 64`, `int 3` or `[%1, none]`."""
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, Int):
        return f"int {value.int_val}"
    if isinstance(value, Bool):
        return f"bool {str(value.bool_val).lower()}"
    if isinstance(value, Double):
        return f"float {value.double_val!r}"
    if isinstance(value, String):
        return f"string {value.string_val!r}"
    if isinstance(value, (IntList, TensorList, OptionalTensorList)):
        return f"[{_values(value.items)}]"
    if isinstance(value, DoubleList):
        return f"floats {value.items}"
    if isinstance(value, BoolList):
        return f"bools [{', '.join(str(item).lower() for item in value.items)}]"
    return "none"


def scalar_type_name(scalar_type: ScalarType) -> str:
    """Returns PyTorch's name of an element type, such as `float32`."""
    return DTYPE_NAMES.get(scalar_type, scalar_type.name.lower())


def _values(indices: Sequence[int]) -> str:
    return ", ".join("none" if index < 0 else f"%{index}" for index in indices)


def _device(kind: DeviceType, index: int) -> str:
    return f"{kind.name.lower()}:{index}"


def _tensor(tensor: Tensor) -> str:
    bound = "<=" if tensor.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND else ""
    is_unbound = tensor.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
    sizes = ", ".join("?" if is_unbound else f"{bound}{size}" for size in tensor.sizes)
    text = f"{scalar_type_name(tensor.scalar_type)}[{sizes}]"
    if tensor.dim_order != sorted(tensor.dim_order):
        text += f" order {tensor.dim_order}"
    extra = tensor.extra_tensor_info
    place = tensor.allocation_info
    if extra is not None and extra.location == TensorDataLocation.EXTERNAL:
        text += f" external {extra.fully_qualified_name!r}"
    elif place is None and tensor.data_buffer_idx:
        text += f" constant {tensor.data_buffer_idx}"
    elif place is None:
        text += " given at run time"
    if place is not None:
        text += f" in memory {place.memory_id} at {place.memory_offset}"
        if tensor.data_buffer_idx:
            text += f", initially {tensor.data_buffer_idx}"
    if extra is not None and extra.fully_qualified_name and extra.location == TensorDataLocation.SEGMENT:
        text += f" {extra.fully_qualified_name!r}"
    return text


def _chain(plan: ExecutionPlan, chain: Chain) -> Iterator[str]:
    width = len(str(max(len(chain.instructions) - 1, 0)))
    traces: Sequence[FrameList | None] = chain.stacktrace or [None] * len(chain.instructions)
    for number, (instruction, trace) in enumerate(zip(chain.instructions, traces, strict=True)):
        source = ""
        if trace is not None and trace.items:
            frame = trace.items[-1]
            source = f"  # {frame.filename}:{frame.lineno}"
        yield f"    {number:>{width}}: {_instruction(plan, instruction)}{source}"


def _instruction(plan: ExecutionPlan, instruction: Instruction) -> str:
    call = instruction.instr_args
    if isinstance(call, KernelCall):
        return f"{plan.operators[call.op_index].full_name}({_values(call.args)})"
    if isinstance(call, DelegateCall):
        return (
            f"delegate {call.delegate_index} {plan.delegates[call.delegate_index].id}({_values(call.args)})"
        )
    if isinstance(call, MoveCall):
        return f"%{call.move_to} = %{call.move_from}"
    if isinstance(call, JumpFalseCall):
        return f"if not %{call.cond_value_index}: go to {call.destination_instruction}"
    if isinstance(call, FreeCall):
        return f"free %{call.value_index}"
    raise TypeError(f"a {type(call).__name__} is not an instruction")


def _data(file: PTEFile) -> Iterator[str]:
    groups: tuple[tuple[str, Sequence[object]], ...] = (
        ("constants", file.constants[1:]),
        ("initial values", file.mutable_data[1:]),
        ("delegate data", file.delegate_data),
    )
    for name, data in groups:
        if data:
            yield f"{name}: {len(data)}, {sum(byte_view(item).nbytes for item in data)} bytes"
    if file.named_data:
        yield "named data"
        for key, entry in file.named_data.items():
            yield f"  {key!r}: {byte_view(entry.data).nbytes} bytes"
