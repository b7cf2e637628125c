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
class CallProgram:
    """Builds a program. Each call is a method, whose tensors are inputs.

    With `constants`, all tensor arguments after the first one are constants of the program.
    """

    constants: bool = False
    plans: list[p.ExecutionPlan] = field(default_factory=list)
    data: list[bytes] = field(default_factory=lambda: [b""])

    def add(self, operator: str, arguments: Sequence[Any], outs: Sequence[torch.Tensor]) -> None:
        """Adds the method `call_N` for an operator with its arguments and outs."""
        values: list[p.EValue] = []
        inputs: list[int] = []

        def append(value: Any) -> int:
            values.append(p.EValue(value))
            return len(values) - 1

        def number(item: Any) -> Any:
            if isinstance(item, bool):
                return p.Bool(item)
            return p.Int(item) if isinstance(item, int) else p.Double(item)

        def tensor(item: torch.Tensor, is_constant: bool) -> int:
            index = 0
            if is_constant:
                order = dim_order_from_strides(item.stride())
                flat = item.permute(order).contiguous().flatten()
                self.data.append(flat.view(torch.uint8).numpy().tobytes() if item.numel() else b"")
                index = len(self.data) - 1
            return append(_tensor(item, index))

        def convert(position: int, item: Any) -> int:
            if isinstance(item, torch.Tensor):
                index = tensor(item, self.constants and position > 0 and item.numel() > 0)
                value = values[index].val
                assert isinstance(value, p.Tensor)
                if value.data_buffer_idx == 0:
                    inputs.append(index)
                return index
            if item is None:
                return append(p.Null())
            if isinstance(item, str):
                return append(p.String(item))
            if isinstance(item, torch.dtype):
                return append(p.Int(int(SCALAR_TYPES[item])))
            if isinstance(item, torch.memory_format):
                return append(p.Null())
            if isinstance(item, (list, tuple)):
                return convert_list(position, list(item))
            return append(number(item))

        def convert_list(position: int, items: list[Any]) -> int:
            if any(isinstance(item, torch.Tensor) for item in items):
                indices = [-1 if item is None else convert(position, item) for item in items]
                return append(p.OptionalTensorList(indices) if None in items else p.TensorList(indices))
            if items and all(isinstance(item, bool) for item in items):
                return append(p.BoolList(items))
            if any(isinstance(item, float) for item in items):
                return append(p.DoubleList([float(item) for item in items]))
            return append(p.IntList([append(p.Int(int(item))) for item in items]))

        arguments_of = [convert(i, item) for i, item in enumerate(arguments)]
        results = [append(_tensor(out, 0)) for out in outs]
        returned = results[0] if len(results) == 1 else append(p.TensorList(list(results)))
        if any(isinstance(item, list) and outs and item is outs for item in arguments):
            results = []
        name, _, overload = operator.partition(".")
        call = p.KernelCall(0, [*arguments_of, *results, returned])
        self.plans.append(
            p.ExecutionPlan(
                name=f"call_{len(self.plans)}",
                container_meta_type=p.ContainerMetadata("", ""),
                values=values,
                inputs=inputs,
                outputs=results,
                chains=[p.Chain([], [], [p.Instruction(call)], None)],
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
