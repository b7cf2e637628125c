"""Programs whose methods have one kernel call each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from rushlight.emit.tensors import SCALAR_TYPES
from rushlight.format import program as p
from rushlight.format.pte import PTEFile, write_pte
from rushlight.ir.spec import dim_order_from_strides


@dataclass
class _Values:
    """The values of a method with one call.

    Attributes:
        constants: whether the tensors after the first argument are constants.
        data: the data of the constants of the program.
        values: the values so far.
        inputs: the indices of the inputs.
    """

    constants: bool
    data: list[bytes]
    values: list[p.EValue] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)

    def append(self, value: Any) -> int:
        """Appends a value, and returns its index."""
        self.values.append(p.EValue(value))
        return len(self.values) - 1

    def convert(self, position: int, item: Any) -> int:
        """Appends the value of the argument at a position, and returns its index."""
        if isinstance(item, torch.Tensor):
            return self._append_tensor(item, self.constants and position > 0 and item.numel() > 0)
        if isinstance(item, (list, tuple)):
            return self._append_list(position, list(item))
        if item is None or isinstance(item, torch.memory_format):
            return self.append(p.Null())
        if isinstance(item, str):
            return self.append(p.String(item))
        if isinstance(item, torch.dtype):
            return self.append(p.Int(int(SCALAR_TYPES[item])))
        if isinstance(item, bool):
            return self.append(p.Bool(item))
        return self.append(p.Int(item) if isinstance(item, int) else p.Double(item))

    def _append_tensor(self, tensor: torch.Tensor, is_constant: bool) -> int:
        if not is_constant:
            self.inputs.append(self.append(_tensor(tensor, 0)))
            return self.inputs[-1]
        flat = tensor.permute(dim_order_from_strides(tensor.stride())).contiguous().flatten()
        self.data.append(flat.view(torch.uint8).numpy().tobytes())
        return self.append(_tensor(tensor, len(self.data) - 1))

    def _append_list(self, position: int, items: list[Any]) -> int:
        if any(isinstance(item, torch.Tensor) for item in items):
            indices = [-1 if item is None else self.convert(position, item) for item in items]
            return self.append(p.OptionalTensorList(indices) if None in items else p.TensorList(indices))
        if items and all(isinstance(item, bool) for item in items):
            return self.append(p.BoolList(items))
        if any(isinstance(item, float) for item in items):
            return self.append(p.DoubleList([float(item) for item in items]))
        return self.append(p.IntList([self.append(p.Int(int(item))) for item in items]))


@dataclass
class Call:
    """A call of an operator.

    Attributes:
        name: the operator with its overload.
        arguments: the arguments without the outs.
        outs: the outs.
    """

    name: str
    arguments: list[Any]
    outs: list[torch.Tensor]

    def __str__(self) -> str:
        shown = [
            f"{a.dtype}{list(a.shape)}" if isinstance(a, torch.Tensor) else repr(a) for a in self.arguments
        ]
        return f"{self.name}({', '.join(shown)})"


@dataclass
class CallProgram:
    """Builds a program. Each call is a method, whose tensors are inputs.

    With `constants`, all tensor arguments after the first one are constants of the program.
    """

    constants: bool = False
    plans: list[p.ExecutionPlan] = field(default_factory=list)
    data: list[bytes] = field(default_factory=lambda: [b""])

    def add(self, operator: str, arguments: Sequence[Any], outs: Sequence[torch.Tensor]) -> None:
        """Adds the method `call_N` for an operator with its arguments and outs."""
        call = _Values(self.constants, self.data)
        indices = [call.convert(i, item) for i, item in enumerate(arguments)]
        results = [call.append(_tensor(out, 0)) for out in outs]
        returned = results[0] if len(results) == 1 else call.append(p.TensorList(list(results)))
        if any(isinstance(item, list) and outs and item is outs for item in arguments):
            results = []
        name, _, overload = operator.partition(".")
        instruction = p.Instruction(p.KernelCall(0, [*indices, *results, returned]))
        self.plans.append(
            p.ExecutionPlan(
                name=f"call_{len(self.plans)}",
                container_meta_type=p.ContainerMetadata("", ""),
                values=call.values,
                inputs=call.inputs,
                outputs=results,
                chains=[p.Chain([], [], [instruction], None)],
                operators=[p.Operator(name, overload)],
                delegates=[],
                non_const_buffer_sizes=[0],
            )
        )

    def bytes(self) -> bytes:
        """Returns the bytes of the `.pte` file."""
        program = p.Program(0, self.plans, [], [], [], p.SubsegmentOffsets(0, []))
        return write_pte(PTEFile(program, constants=list(self.data)))


def _tensor(item: torch.Tensor, data_buffer_idx: int) -> p.Tensor:
    return p.Tensor(
        scalar_type=SCALAR_TYPES[item.dtype],
        storage_offset=0,
        sizes=list(item.shape),
        dim_order=list(dim_order_from_strides(item.stride())),
        requires_grad=False,
        layout=0,
        data_buffer_idx=data_buffer_idx,
        allocation_info=None,
        shape_dynamism=p.TensorShapeDynamism.STATIC,
    )


def tensors_of(arguments: Sequence[Any]) -> list[torch.Tensor]:
    """Returns the tensors among arguments, also those in lists."""
    found = []
    for item in arguments:
        if isinstance(item, torch.Tensor):
            found.append(item)
        elif isinstance(item, (list, tuple)):
            found += [part for part in item if isinstance(part, torch.Tensor)]
    return found


def inputs_of(arguments: Sequence[Any], constants: bool) -> list[torch.Tensor]:
    """Returns the tensors that are inputs of the method of a CallProgram, in the order of the arguments."""
    return [
        tensor
        for position, item in enumerate(arguments)
        for tensor in tensors_of([item])
        if not (constants and position > 0 and tensor.numel() > 0)
    ]
