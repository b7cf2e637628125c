"""Writes a call of a kernel as a program file with one instruction."""

from __future__ import annotations

from typing import Any

import torch
from tests.fuzz.calls import Call
from tests.fuzz.record import dim_order

from rushlight.emit.tensors import SCALAR_TYPES
from rushlight.format import program as pte
from rushlight.format.pte import PTEFile, PTELayout, write_pte


def _types(name: str) -> list[str]:
    """Returns the types of all arguments, or an empty result if torch does not have the operator."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    try:
        found = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
    except AttributeError:
        return []
    return [
        str(argument.type).removeprefix("Optional[").removesuffix("]") for argument in found._schema.arguments
    ]


class _Writer:
    def __init__(self, constant_tensors: bool) -> None:
        self.values: list[pte.EValue] = []
        self.inputs: list[int] = []
        self.constants: list[bytes] = [b""]
        self.used = 0
        self.constant_tensors = constant_tensors

    def add(self, value: pte.KernelTypes) -> int:
        self.values.append(pte.EValue(value))
        return len(self.values) - 1

    def tensor(self, tensor: torch.Tensor, is_input: bool) -> int:
        nbytes = tensor.numel() * tensor.element_size()
        order = dim_order(tensor)
        number = SCALAR_TYPES[tensor.dtype]
        planned, constant = None, 0
        if is_input and self.constant_tensors and nbytes > 0:
            dense = tensor.permute(order).contiguous().reshape(-1)
            self.constants.append(dense.view(torch.uint8).numpy().tobytes())
            constant = len(self.constants) - 1
        else:
            planned = pte.AllocationDetails(1, self.used, 0)
            self.used += -(-nbytes // 16) * 16
        index = self.add(
            pte.Tensor(
                number, 0, list(tensor.shape), order, False, 0, constant, planned,
                pte.TensorShapeDynamism.DYNAMIC_BOUND if not is_input else pte.TensorShapeDynamism.STATIC,
            )
        )  # fmt: skip
        if is_input and planned is not None:
            self.inputs.append(index)
        return index

    def argument(self, value: Any, kind: str, is_out: bool) -> int:
        """Adds a value for the argument, and returns its index."""
        if isinstance(value, torch.Tensor):
            return self.tensor(value, not is_out)
        if isinstance(value, torch.dtype):
            return self.add(pte.Int(int(SCALAR_TYPES[value])))
        if isinstance(value, list):
            return self.list(value, kind, is_out)
        if value is None:
            return self.add(pte.Null())
        if isinstance(value, bool):
            return self.add(pte.Bool(value))
        if isinstance(value, str):
            return self.add(pte.String(value))
        if isinstance(value, float) or kind == "float":
            return self.add(pte.Double(float(value)))
        return self.add(pte.Int(value))

    def list(self, value: list[Any], kind: str, is_out: bool) -> int:
        if "Tensor" in kind or any(isinstance(item, torch.Tensor) for item in value):
            items = [-1 if item is None else self.tensor(item, not is_out) for item in value]
            optional = "Optional" in kind or -1 in items
            return self.add(pte.OptionalTensorList(items) if optional else pte.TensorList(items))
        if "bool" in kind or (value and all(isinstance(item, bool) for item in value)):
            return self.add(pte.BoolList([bool(item) for item in value]))
        if "float" in kind or any(isinstance(item, float) for item in value):
            return self.add(pte.DoubleList([float(item) for item in value]))
        return self.add(pte.IntList([self.add(pte.Int(item)) for item in value]))


def single_call_program(call: Call, outs: int, constant_tensors: bool = False) -> bytes:
    """Returns a program whose only instruction is the call.

    Args:
        call: the kernel and its arguments.
        outs: the number of arguments at the end that are results.
        constant_tensors: whether the tensors are constants in the file; otherwise they are inputs.
    """
    writer = _Writer(constant_tensors)
    types = _types(call.name)
    if len(types) != len(call.args):  # the operator returns a number, which is an argument of its kernel
        types = [""] * len(call.args)
    first_out = len(call.args) - outs
    args = [
        writer.argument(value, kind, place >= first_out)
        for place, (value, kind) in enumerate(zip(call.args, types, strict=True))
    ]
    operator, _, overload = call.name.partition(".")
    plan = pte.ExecutionPlan(
        name="forward",
        container_meta_type=pte.ContainerMetadata("", ""),
        values=writer.values,
        inputs=writer.inputs,
        outputs=args[first_out:],
        chains=[pte.Chain([], [], [pte.Instruction(pte.KernelCall(0, args))], None)],
        operators=[pte.Operator(operator, overload)],
        delegates=[],
        non_const_buffer_sizes=[0, writer.used + 16],
    )
    program = pte.Program(0, [plan], [], [], [], pte.SubsegmentOffsets(0, []))
    return write_pte(PTEFile(program, constants=list(writer.constants)), PTELayout(segment_alignment=16))
