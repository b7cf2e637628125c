"""Emits the planned programs of several methods as one program in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node

from rushlight.emit.constants import ConstantBuffers
from rushlight.emit.errors import EmitError
from rushlight.emit.getters import emit_getter
from rushlight.emit.method import MethodEmitter
from rushlight.emit.state import EmitOptions, MethodState
from rushlight.format.program import (
    BackendDelegateInlineData,
    Buffer,
    ExecutionPlan,
    Program,
    SubsegmentOffsets,
)
from rushlight.format.pte import PTEFile
from rushlight.format.segments import NamedDataEntry
from rushlight.ir.json_types import JsonObject
from rushlight.ir.meta import DebugHandle

SCHEMA_VERSION = 0


@dataclass
class EmitterOutput:
    """A program, and the maps that tools need to read its event traces.

    The keys of the maps are the method name, then the instruction index.

    Attributes:
        pte: the program.
        debug_handle_map: the debug handle of the instruction's node, or a list for a delegate call.
        method_to_delegate_debug_id_map: the name and the debug map of a delegate call's backend.
        instruction_id_to_num_outs_map: the number of results of a delegate call.
        nodes: the node of a kernel call in the planned graph.
        external_constants: the tensors outside the program, by file and qualified name.
    """

    pte: PTEFile
    debug_handle_map: dict[str, dict[int, DebugHandle | Sequence[DebugHandle]]] = field(default_factory=dict)
    method_to_delegate_debug_id_map: dict[str, dict[int, JsonObject]] = field(default_factory=dict)
    instruction_id_to_num_outs_map: dict[str, dict[int, int]] = field(default_factory=dict)
    nodes: dict[str, dict[int, Node]] = field(default_factory=dict)
    external_constants: dict[str, dict[str, NamedDataEntry]] = field(default_factory=dict)

    @cached_property
    def program(self) -> Program:
        """The program with copies of its constants and payloads. They are copied at the first access."""
        return replace(
            self.pte.program,
            constant_buffer=[Buffer(storage=bytes(data)) for data in self.pte.constants],
            backend_delegate_data=[
                BackendDelegateInlineData(data=bytes(data)) for data in self.pte.delegate_data
            ],
        )

    @cached_property
    def external_constant_buffer(self) -> list[bytes]:
        """The data of `external_constants`, without duplicates."""
        return list(
            {bytes(entry.data): None for file in self.external_constants.values() for entry in file.values()}
        )

    @cached_property
    def external_constant_map(self) -> dict[str, dict[str, int]]:
        """The index of a tensor in `external_constant_buffer`, by file and qualified name."""
        places = {data: index for index, data in enumerate(self.external_constant_buffer)}
        return {
            file: {name: places[bytes(entry.data)] for name, entry in entries.items()}
            for file, entries in self.external_constants.items()
        }

    @property
    def mutable_data(self) -> list[Any] | None:
        """The initial values of mutable buffers, or None if there are none. Entry 0 is reserved."""
        return self.pte.mutable_data or None


def emit_program(
    methods: ExportedProgram | Mapping[str, ExportedProgram],
    emit_stacktrace: bool = False,
    prim_getters: Mapping[str, object] | None = None,
    emit_mutable_buffer_names: bool = False,
    *,
    options: EmitOptions | None = None,
) -> EmitterOutput:
    """Emits planned programs as methods of one program, ordered by name.

    Args:
        methods: a planned program, which becomes the method `forward`, or planned programs by method name.
        emit_stacktrace: write the source lines of the model.
        prim_getters: the values of constant methods, by name.
        emit_mutable_buffer_names: write the names of mutable buffers.
        options: the options. They replace the two flags.

    Returns:
        The program.

    Raises:
        EmitError: a node cannot be emitted. The message names the node.
        UnsupportedOperatorsError: the target does not have all kernels. The message lists the missing
            kernels.
    """
    if isinstance(methods, ExportedProgram):
        methods = {"forward": methods}
    wrong = [name for name, program in methods.items() if not isinstance(program, ExportedProgram)]
    if wrong:
        raise EmitError(f"the methods {', '.join(wrong)} are not exported programs")
    if options is None:
        options = EmitOptions(stack_traces=emit_stacktrace, state_names=emit_mutable_buffer_names)
    getters = {**training_getters(methods), **(prim_getters or {})}
    twice = sorted(methods.keys() & getters.keys())
    if twice:
        raise EmitError(
            f"the names {', '.join(twice)} are names of methods and also of constant methods; use different "
            "names"
        )
    constants = ConstantBuffers()
    output = EmitterOutput(PTEFile(_empty_program()))
    plans = output.pte.program.execution_plan
    for name, program in sorted(methods.items()):
        plans.append(_emit_method(name, program, constants, options, output))
    for name, value in getters.items():
        plans.append(emit_getter(name, value, constants))
    output.pte.constants = list(constants.file.items)
    output.pte.mutable_data = list(constants.state.items) if len(constants.state.items) > 1 else []
    output.pte.delegate_data = list(constants.delegates)
    output.pte.named_data = dict(constants.named)
    output.external_constants = constants.external
    return output


def _emit_method(
    name: str,
    program: ExportedProgram,
    constants: ConstantBuffers,
    options: EmitOptions,
    output: EmitterOutput,
) -> ExecutionPlan:
    state = MethodState(options, constants)
    plan = MethodEmitter(state, name, program).plan()
    output.debug_handle_map[name] = state.debug_handles
    output.nodes[name] = state.nodes
    output.method_to_delegate_debug_id_map[name] = state.delegate_maps
    output.instruction_id_to_num_outs_map[name] = state.result_counts
    return plan


def training_getters(methods: Mapping[str, ExportedProgram]) -> dict[str, object]:
    """Returns constant methods that describe the outputs of joint graphs.

    Their values are the indices of the first gradient and the first parameter, and the names of the
    parameters.
    """
    getters: dict[str, object] = {}
    for name, program in methods.items():
        names: list[str] = []
        for index, spec in enumerate(program.graph_signature.output_specs):
            if spec.kind is OutputKind.GRADIENT_TO_PARAMETER:
                if not names:
                    getters[f"__et_training_gradients_index_{name}"] = index
                names.append(str(spec.target))
            elif spec.kind is OutputKind.TOKEN and names:
                getters.setdefault(f"__et_training_parameters_index_{name}", index)
        if names:
            getters[f"__et_training_fqn_{name}"] = names
    return getters


def _empty_program() -> Program:
    return Program(
        version=SCHEMA_VERSION,
        execution_plan=[],
        constant_buffer=[],
        backend_delegate_data=[],
        segments=[],
        constant_segment=SubsegmentOffsets(segment_index=0, offsets=[]),
    )
