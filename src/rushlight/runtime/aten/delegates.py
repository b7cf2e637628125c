"""Runs delegates: on the native backend, or on their lowered modules."""

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
    """A delegate and its state, as a separate native program.

    Only the backend knows which arguments are results. All arguments are therefore inputs of the separate
    program, and each has its own memory. After a run, the values of all tensors are copied back.
    """

    def __init__(self, file: PTEFile, plan: p.ExecutionPlan, call: p.DelegateCall, data: Any) -> None:
        delegate = plan.delegates[call.delegate_index]
        values, size = _with_separate_memory([plan.values[index].val for index in call.args])
        self._tensors = [i for i, value in enumerate(values) if isinstance(value, p.Tensor)]
        arguments = list(range(len(values)))
        delegate_plan = p.ExecutionPlan(
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
        program = p.Program(0, [delegate_plan], [], [], [], p.SubsegmentOffsets(0, []))
        payload = file.delegate_data[delegate.processed.index]
        separate_file = PTEFile(program, delegate_data=[payload], named_data=_without_guards(file))
        try:
            self._method = _native.Method(
                _native.load_buffer(write_pte(separate_file), data, None), plan.name
            )
        except NotFoundError as error:
            raise NotFoundError(
                f"{error}; alternatively, ATen mode can run the lowered modules: load_method(..., "
                "lowered=[...])"
            ) from None

    def __call__(self, slots: list[Slot]) -> None:
        """Runs the delegate.

        Args:
            slots: the values of the call: inputs and outputs.
        """
        given = [slot.tensor if isinstance(slot, TensorSlot) else slot for slot in slots]
        results = self._method.execute(given)
        for position, result in zip(self._tensors, results, strict=True):
            slot = slots[position]
            assert isinstance(slot, TensorSlot)
            if not slot.is_constant:
                slot.write(from_numpy(result) if isinstance(result, np.ndarray) else result)


class LoweredDelegate:
    """A delegate that runs as a Python callable. The callable returns a pytree of outputs."""

    def __init__(self, module: Callable[..., Any]) -> None:
        self._module = module

    def __call__(self, slots: list[Slot]) -> None:
        """Runs the callable.

        Args:
            slots: the values of the call: the inputs, then the outputs.
        """
        values = [slot.tensor if isinstance(slot, TensorSlot) else slot for slot in slots]
        # The number of inputs is known before the run, the number of results only after it.
        count = _input_count(self._module, len(values))
        with torch.no_grad():
            results = pytree.tree_leaves(self._module(*values[:count]))
        if count + len(results) != len(values):
            raise InvalidArgumentError(
                f"the lowered module has {count} inputs and {len(results)} results, but the call of the "
                f"delegate has {len(values)} arguments: the module may belong to another delegate"
            )
        for slot, result in zip(slots[count:], results, strict=True):
            if isinstance(slot, TensorSlot):
                slot.write(result)


def _input_count(module: object, arguments: int) -> int:
    """Returns the number of inputs of a lowered module.

    If the module does not contain its original program, all arguments except the last are inputs.
    """
    program = getattr(module, "original_module", None)
    return arguments - 1 if program is None else len(program.graph_signature.user_inputs)


def _with_separate_memory(values: Sequence[p.KernelTypes]) -> tuple[list[p.KernelTypes], int]:
    """Assigns separate memory to each tensor. Returns the values and the size of the memory in bytes."""
    found: list[p.KernelTypes] = []
    end = 0
    for value in values:
        if isinstance(value, p.Tensor):
            bounded = value.shape_dynamism != p.TensorShapeDynamism.DYNAMIC_UNBOUND
            place = p.AllocationDetails(1, end & 0xFFFFFFFF, end >> 32) if bounded else None
            size = torch.Size(value.sizes).numel() * DTYPES[value.scalar_type].itemsize
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
            value = replace(value, data_buffer_idx=0, allocation_info=place, extra_tensor_info=None)
        found.append(value)
    return found, end


def _without_guards(file: PTEFile) -> dict[str, NamedDataEntry]:
    # The guards belong to the inputs of the method, not to the inputs of the delegate.
    guards = ("rushlight.shape_guards.", "rushlight.relations.")
    return {key: data for key, data in file.named_data.items() if not key.startswith(guards)}
