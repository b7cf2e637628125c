"""An interpreter that runs a program on torch's kernels, in the planned memory of the program."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import torch

from rushlight.emit.tensors import SCALAR_TYPES
from rushlight.format import program as p
from rushlight.format.pte import PTEFile
from rushlight.ir import dim_order_ops  # noqa: F401  (registers dim_order_ops with torch)
from rushlight.ir.spec import strides_from_dim_order

DTYPES = {number: dtype for dtype, number in SCALAR_TYPES.items()}
LIMIT = 10_000

PRIMS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "lt": operator.lt,
    "gt": operator.gt,
    "le": operator.le,
    "ge": operator.ge,
    "eq": operator.eq,
}


class Interpreter:
    """One method with its state. Arguments and results of a call are flat lists."""

    def __init__(self, pte: PTEFile, method: str = "forward") -> None:
        (self.plan,) = [plan for plan in pte.program.execution_plan if plan.name == method]
        self.pte = pte
        # Mutable buffers without an initial value are initialized with zeros.
        self.arenas = [torch.zeros(size, dtype=torch.uint8) for size in self.plan.non_const_buffer_sizes]
        self.values = [self._value(value.val) for value in self.plan.values]

    def __call__(self, *inputs: Any) -> list[Any]:
        for index, given in zip(self.plan.inputs, inputs, strict=True):
            value = self.values[index]
            if isinstance(value, torch.Tensor):
                tensor = self.plan.values[index].val
                if tensor.allocation_info is None:  # type: ignore[union-attr]
                    self.values[index] = given.clone()
                else:
                    value.resize_(given.shape).copy_(given)
            elif given is not None:
                self.values[index] = given
        self._run()
        outputs = [self._get(index) for index in self.plan.outputs]
        return [o.clone() if isinstance(o, torch.Tensor) else o for o in outputs]

    def _value(self, value: Any) -> Any:
        if isinstance(value, p.Tensor):
            return self._tensor(value)
        if isinstance(value, p.Null):
            return None
        if isinstance(value, (p.IntList, p.TensorList, p.OptionalTensorList)):
            return value
        (field,) = vars(value).values()
        return field

    def _tensor(self, tensor: p.Tensor) -> torch.Tensor:
        dtype = DTYPES[tensor.scalar_type]
        strides = strides_from_dim_order(tensor.sizes, tensor.dim_order)
        count = torch.Size(tensor.sizes).numel()
        place = tensor.allocation_info
        data = None
        if tensor.data_buffer_idx:
            source = self.pte.constants if place is None else self.pte.mutable_data
            content = bytearray(source[tensor.data_buffer_idx])
            data = (
                torch.frombuffer(content, dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
            )
        if place is None:
            raw = data if data is not None else torch.empty(count * dtype.itemsize, dtype=torch.uint8)
        else:
            start = place.memory_offset
            raw = self.arenas[place.memory_id][start : start + count * dtype.itemsize]
            assert raw.numel() == count * dtype.itemsize, "a tensor exceeds its memory"
            if data is not None:
                raw.copy_(data)
        if count == 0:
            return torch.empty(tensor.sizes, dtype=dtype)
        return raw.view(dtype).as_strided(tensor.sizes, strides)

    def _get(self, index: int) -> Any:
        value = self.values[index]
        if isinstance(value, p.OptionalTensorList):
            return [None if item < 0 else self._get(item) for item in value.items]
        if isinstance(value, (p.IntList, p.TensorList)):
            return [self._get(item) for item in value.items]
        return value

    def _run(self) -> None:
        instructions = self.plan.chains[0].instructions
        at = steps = 0
        while at < len(instructions):
            steps += 1
            assert steps < LIMIT, "the program does not end"
            call = instructions[at].instr_args
            at += 1
            if isinstance(call, p.KernelCall):
                operator_ = self.plan.operators[call.op_index]
                self._kernel(operator_.name, operator_.overload, call.args)
            elif isinstance(call, p.MoveCall):
                self.values[call.move_to] = self.values[call.move_from]
            elif isinstance(call, p.JumpFalseCall):
                if not bool(self.values[call.cond_value_index]):
                    at = call.destination_instruction
            else:
                assert isinstance(call, p.FreeCall)
                self.values[call.value_index] = torch.full_like(self.values[call.value_index], 99)

    def _kernel(self, name: str, overload: str, args: list[int]) -> None:
        if name == "executorch_prim::et_view":
            self.values[args[2]] = self._get(args[0]).reshape(self._get(args[1]))
        elif name == "executorch_prim::et_copy_index":
            self._copy_index(*args)
        elif name.startswith("executorch_prim::"):
            *operands, result = args
            function = PRIMS[name.removeprefix("executorch_prim::")]
            self.values[result] = function(*(self._get(a) for a in operands))
        else:
            self._torch_kernel(name, overload, args)

    def _copy_index(self, target: int, source: int, index: int) -> None:
        piece, position = self._get(source), self._get(index)
        whole = self._get(target)
        whole.resize_([position + 1, *piece.shape])
        whole[position].copy_(piece)

    def _torch_kernel(self, name: str, overload: str, args: list[int]) -> None:
        library, base = name.split("::")
        op = getattr(getattr(getattr(torch.ops, library), base), overload or "default")
        given, keywords = [], {}
        for argument, index in zip(op._schema.arguments, args, strict=False):
            value = self._get(index)
            if argument.is_out and isinstance(value, torch.Tensor) and self._may_resize(index):
                # resize_ of an out with elements causes a warning.
                value.resize_(0)
            if argument.kwarg_only:
                keywords[argument.name] = value
            else:
                given.append(value)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = op(*given, **keywords)
        returned = args[len(op._schema.arguments) :]
        assert len(returned) == 1
        if isinstance(result, (bool, int, float)):
            self.values[returned[0]] = result

    def _may_resize(self, index: int) -> bool:
        tensor = self.plan.values[index].val
        aliases = [i for i, v in enumerate(self.values) if i != index and v is self.values[index]]
        return tensor.shape_dynamism != p.TensorShapeDynamism.STATIC and not aliases  # type: ignore[union-attr]
