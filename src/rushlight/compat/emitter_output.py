"""The result of emission, with the fields of ExecuTorch's class."""

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
        program: the program, with its constants and delegates in it.
        debug_handle_map: method to instruction index to the debug handle.
        method_to_delegate_debug_id_map: method to instruction index to the backend's name and its own map.
        instruction_id_to_num_outs_map: method to instruction index to the number of a delegate's results.
        mutable_data: initial values of mutable buffers, entry 0 reserved; None if there are none.
        external_constant_buffer: the bytes of the tensors outside of the program.
        external_constant_map: file and qualified name to the index in `external_constant_buffer`.
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
    """The layout of each tensor that lies outside of a program, by its qualified name."""
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
