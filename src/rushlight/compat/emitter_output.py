"""The result of emission, with the constructor of ExecuTorch's class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rushlight.emit import program as emitted
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import Program, Tensor, TensorDataLocation
from rushlight.format.pte import PTEFile
from rushlight.format.segments import NamedDataEntry
from rushlight.ir.json_types import JsonObject


class EmitterOutput(emitted.EmitterOutput):
    """An emitted program, constructed from its parts.

    Args:
        program: the program, which contains its constants and delegates.
        debug_handle_map: for each method, maps the index of an instruction to its debug handle.
        method_to_delegate_debug_id_map: for each method, maps the index of an instruction to the name of the
            backend and the backend's debug map.
        instruction_id_to_num_outs_map: for each method, maps the index of a delegate call to the number of
            its results.
        mutable_data: the initial values of mutable buffers; entry 0 is reserved. None if there are no values.
        external_constant_buffer: the bytes of the tensors that are stored in data files.
        external_constant_map: for each data file, maps the qualified name of a tensor to its index in
            `external_constant_buffer`.
    """

    def __init__(
        self,
        program: Program,
        debug_handle_map: dict[str, dict[int, Any]],
        method_to_delegate_debug_id_map: dict[str, dict[int, JsonObject]],
        instruction_id_to_num_outs_map: dict[str, dict[int, int]],
        mutable_data: Sequence[Any] | None,
        external_constant_buffer: Sequence[bytes],
        external_constant_map: Mapping[str, Mapping[str, int]] | None,
    ) -> None:
        layouts = _layouts(program)
        super().__init__(
            PTEFile(program, mutable_data=[getattr(item, "storage", item) for item in mutable_data or ()]),
            debug_handle_map,
            method_to_delegate_debug_id_map,
            instruction_id_to_num_outs_map,
            external_constants={
                file: {
                    name: NamedDataEntry(external_constant_buffer[index], tensor_layout=layouts.get(name))
                    for name, index in entries.items()
                }
                for file, entries in (external_constant_map or {}).items()
            },
        )


def _layouts(program: Program) -> dict[str, TensorLayout]:
    """Returns the layouts of the tensors that are stored in data files, by qualified name."""
    layouts = {}
    for plan in program.execution_plan:
        for value in plan.values:
            tensor = value.val
            info = tensor.extra_tensor_info if isinstance(tensor, Tensor) else None
            if info is None or info.location is not TensorDataLocation.EXTERNAL:
                continue
            assert isinstance(tensor, Tensor)
            layouts[str(info.fully_qualified_name)] = TensorLayout(
                tensor.scalar_type, list(tensor.sizes), list(tensor.dim_order)
            )
    return layouts
