"""Runs a part that was lowered to a backend: on the native backend, or on the module that it was lowered
from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from rushlight.format import program as p
from rushlight.format.pte import PTEFile, write_pte
from rushlight.format.segments import NamedDataEntry
from rushlight.runtime import _native
from rushlight.runtime.aten.values import DTYPES, Slot, TensorSlot, from_numpy
from rushlight.runtime.errors import InvalidArgumentError, NotFoundError

_ALIGNMENT = 64


class NativeDelegate:
    """A delegate with its state, as a native program of its own.

    Only the backend knows which arguments are results. All arguments are therefore inputs of the program,
    each in memory of its own, and the values of all tensors are copied back afterwards.
    """

    def __init__(self, file: PTEFile, plan: p.ExecutionPlan, call: p.DelegateCall, data: Any) -> None:
        delegate = plan.delegates[call.delegate_index]
        values, size = _placed([plan.values[index].val for index in call.args])
        self._tensors = [i for i, value in enumerate(values) if isinstance(value, p.Tensor)]
        arguments = list(range(len(values)))
        alone = p.ExecutionPlan(
            name=plan.name,
            container_meta_type=p.ContainerMetadata("", ""),
            values=[p.EValue(value) for value in values],
            inputs=arguments,
            outputs=self._tensors,
            chains=[p.Chain([], [], [p.Instruction(p.DelegateCall(0, arguments))], None)],
            operators=[],
            delegates=[replace(delegate, processed=p.BackendDelegateDataReference(p.DataLocation.INLINE, 0))],
            non_const_buffer_sizes=[0, size],
        )
        program = p.Program(0, [alone], [], [], [], p.SubsegmentOffsets(0, []))
        payload = file.delegate_data[delegate.processed.index]
        made = PTEFile(program, delegate_data=[payload], named_data=_without_guards(file))
        try:
            self._method = _native.Method(_native.load_buffer(write_pte(made), data, None), plan.name)
        except NotFoundError as error:
            raise NotFoundError(
                f"{error}; in ATen mode load_method(..., lowered=[...]) may give the lowered modules instead"
            ) from None

    def __call__(self, slots: list[Slot]) -> None:
        """Runs the delegate on the values of the call, inputs and outputs."""
        given = [slot.tensor if isinstance(slot, TensorSlot) else slot for slot in slots]
        results = self._method.execute(given)
        for position, result in zip(self._tensors, results, strict=True):
            slot = slots[position]
            assert isinstance(slot, TensorSlot)
            if not slot.is_constant:
                slot.write(from_numpy(result) if isinstance(result, np.ndarray) else result)


class LoweredDelegate:
    """A delegate that runs as a Python callable from inputs to a pytree of outputs."""

    def __init__(self, module: Callable[..., Any]) -> None:
        self._module = module

    def __call__(self, slots: list[Slot]) -> None:
        """Runs the callable on the values of the call. The last values receive the results."""
        values = [slot.tensor if isinstance(slot, TensorSlot) else slot for slot in slots]
        # The number of results is known only after the module has run; the number of inputs is fixed.
        count = _input_count(self._module, len(values))
        with torch.no_grad():
            results = pytree.tree_leaves(self._module(*values[:count]))
        if count + len(results) != len(values):
            raise InvalidArgumentError(
                f"the lowered module takes {count} inputs and gives {len(results)} results, but the call of "
                f"the delegate has {len(values)} arguments: is it of another delegate?"
            )
        for slot, result in zip(slots[count:], results, strict=True):
            if isinstance(slot, TensorSlot):
                slot.write(result)


def _input_count(module: object, arguments: int) -> int:
    """Returns the number of inputs of a lowered module.

    Without its original program, all arguments except one count as inputs.
    """
    program = getattr(module, "original_module", None)
    return arguments - 1 if program is None else len(program.graph_signature.user_inputs)


def _placed(values: Sequence[p.KernelTypes]) -> tuple[list[p.KernelTypes], int]:
    """Gives each tensor its own memory; returns the values and the size of the memory in bytes."""
    placed: list[p.KernelTypes] = []
    end = 0
    for value in values:
        if isinstance(value, p.Tensor):
            bounded = value.shape_dynamism != p.TensorShapeDynamism.DYNAMIC_UNBOUND
            place = p.AllocationDetails(1, end & 0xFFFFFFFF, end >> 32) if bounded else None
            size = torch.Size(value.sizes).numel() * DTYPES[value.scalar_type].itemsize
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
            value = replace(value, data_buffer_idx=0, allocation_info=place, extra_tensor_info=None)
        placed.append(value)
    return placed, end


def _without_guards(file: PTEFile) -> dict[str, NamedDataEntry]:
    # The guards belong to the inputs of the method, not to the inputs of the delegate.
    guards = ("rushlight.shape_guards.", "rushlight.relations.")
    return {key: data for key, data in file.named_data.items() if not key.startswith(guards)}
