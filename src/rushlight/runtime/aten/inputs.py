"""Checks the inputs of a method with the checks of the native runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rushlight.format import program as p
from rushlight.format.pte import PTEFile, write_pte
from rushlight.runtime import _native
from rushlight.runtime.aten.values import from_numpy

_SCALARS = (p.Int, p.Double, p.Bool, p.String)


class InputChecker:
    """A native program with the inputs of a method. It only checks the inputs and returns the tensors."""

    def __init__(self, file: PTEFile, plan: p.ExecutionPlan) -> None:
        # Integers are kept, because guards may refer to integers that the program computes.
        values = [
            p.EValue(_as_input(item.val) if index in plan.inputs or isinstance(item.val, p.Int) else p.Null())
            for index, item in enumerate(plan.values)
        ]
        self._tensors = [i for i, index in enumerate(plan.inputs) if isinstance(values[index].val, p.Tensor)]
        # The native runtime treats a number that no instruction reads as a constant.
        read = set(_read_values(plan))
        moves = []
        for index in plan.inputs:
            if index in read and isinstance(values[index].val, _SCALARS):
                values.append(values[index])
                moves.append(p.Instruction(p.MoveCall(index, len(values) - 1)))
        checked = replace(
            plan,
            values=values,
            outputs=[plan.inputs[i] for i in self._tensors],
            chains=[p.Chain([], [], moves, None)],
            operators=[],
            delegates=[],
            non_const_buffer_sizes=[0],
        )
        program = p.Program(0, [checked], [], [], [], p.SubsegmentOffsets(0, []))
        data = write_pte(PTEFile(program, named_data=file.named_data))
        self._method = _native.Method(_native.load_buffer(data, [], None), plan.name)

    def check(self, inputs: Sequence[object], names: list[str]) -> list[Any]:
        """Checks inputs.

        Args:
            inputs: the inputs of the method.
            names: the names of the inputs in error messages.

        Returns:
            The inputs, with each tensor as a dense torch tensor.

        Raises:
            InvalidArgumentError, InvalidTypeError: the native runtime would raise the same error.
        """
        self._method.input_names = names
        results = self._method.execute(inputs)
        checked = list(inputs)
        for position, tensor in zip(self._tensors, results, strict=True):
            checked[position] = from_numpy(tensor) if isinstance(tensor, np.ndarray) else tensor
        return checked


def _as_input(value: p.KernelTypes) -> p.KernelTypes:
    """Returns a value without its planned memory and data."""
    if not isinstance(value, p.Tensor):
        return value
    return replace(value, data_buffer_idx=0, allocation_info=None, extra_tensor_info=None)


def _read_values(plan: p.ExecutionPlan) -> Iterator[int]:
    yield from plan.outputs
    for value in plan.values:
        if isinstance(value.val, (p.IntList, p.TensorList, p.OptionalTensorList)):
            yield from value.val.items
    for chain in plan.chains:
        for instruction in chain.instructions:
            match instruction.instr_args:
                case p.KernelCall(args=args) | p.DelegateCall(args=args):
                    yield from args
                case p.MoveCall(move_from=value_index):
                    yield value_index
                case p.JumpFalseCall(cond_value_index=value_index):
                    yield value_index


def has_torch(inputs: Sequence[object]) -> bool:
    """Returns whether the results should be torch tensors.

    This is the case if an input is a torch tensor, or if no input is another tensor, such as a numpy array.
    """
    return any(isinstance(item, torch.Tensor) for item in inputs) or not any(
        hasattr(item, "__dlpack__") for item in inputs
    )
