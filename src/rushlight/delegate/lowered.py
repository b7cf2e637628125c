"""Modules that a backend compiled, and the calls of such modules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.delegate.backend import CompileSpec
from rushlight.delegate.named_data import NamedDataStoreOutput
from rushlight.ir.control_flow import is_delegate_call
from rushlight.ir.errors import CompileError
from rushlight.ir.program import copy_program

Writer = Callable[..., Any]
"""The type of a function that makes the program whose only instruction calls a lowered module.

The arguments are the module and options. The result is a manager with `.buffer` and `.executorch_program`.
Only the driver of the compiler imports the later stages; therefore the driver passes this function to the
code that makes lowered modules.
"""


class LoweredBackendModule(torch.nn.Module):
    """The payload of a backend, together with the edge program from which the backend compiled it.

    In Python, calling the module runs the edge program.
    """

    def __init__(
        self,
        edge_program: ExportedProgram,
        backend_id: str,
        processed_bytes: bytes,
        compile_specs: list[CompileSpec],
        named_data_store_output: NamedDataStoreOutput | None = None,
        writer: Writer | None = None,
    ) -> None:
        """Stores the results of a backend.

        Args:
            edge_program: the program before compilation by the backend.
            backend_id: the name of the backend.
            processed_bytes: the payload.
            compile_specs: the options of the partitioner.
            named_data_store_output: the data that the backend stored by name.
            writer: makes a program that only calls this module. Without it, `program` and `buffer` fail.
        """
        super().__init__()
        self._original_exported_program = edge_program
        self._backend_id = backend_id
        self._processed_bytes = processed_bytes
        self._compile_specs = compile_specs
        self._named_data_store_output = named_data_store_output
        self._writer = writer
        self.meta: dict[str, object] | None = None

    def __deepcopy__(self, memo: dict[int, object] | None) -> LoweredBackendModule:
        result = LoweredBackendModule(
            copy_program(self._original_exported_program),
            self._backend_id,
            self._processed_bytes,
            copy.deepcopy(self._compile_specs, memo),
            self._named_data_store_output,
            self._writer,
        )
        result.meta = copy.copy(self.meta)
        return result

    @property
    def backend_id(self) -> str:
        """The name of the backend."""
        return self._backend_id

    @property
    def processed_bytes(self) -> bytes:
        """The payload."""
        return self._processed_bytes

    @property
    def compile_specs(self) -> list[CompileSpec]:
        """The options of the partitioner."""
        return self._compile_specs

    @property
    def original_module(self) -> ExportedProgram:
        """The edge program before compilation by the backend."""
        return self._original_exported_program

    @property
    def named_data_store_output(self) -> NamedDataStoreOutput | None:
        """The data that the backend stored by name, or None."""
        return self._named_data_store_output

    def forward(self, *args: object) -> Any:
        """Runs the edge program."""
        return executorch_call_delegate(self, *args)

    def program(self, emit_stacktrace: bool = False, memory_planning: object = None) -> Any:
        """Returns the program whose only instruction calls this module, before serialization.

        Raises:
            CompileError: the module was made without a writer.
        """
        return self._write(
            emit_stacktrace=emit_stacktrace, memory_planning=memory_planning
        ).executorch_program

    def buffer(
        self,
        extract_delegate_segments: bool = False,
        segment_alignment: int = 128,
        constant_tensor_alignment: int | None = None,
        delegate_alignment: int | None = None,
        memory_planning: object = None,
    ) -> bytes:
        """Returns the bytes of a .pte file whose only instruction calls this module.

        Alignments are in bytes.

        Raises:
            CompileError: the module was made without a writer.
        """
        manager = self._write(
            extract_delegate_segments=extract_delegate_segments,
            segment_alignment=segment_alignment,
            constant_tensor_alignment=constant_tensor_alignment,
            delegate_alignment=delegate_alignment,
            memory_planning=memory_planning,
        )
        return bytes(manager.buffer)

    def _write(self, **options: object) -> Any:
        if self._writer is None:
            raise CompileError(
                f"this lowered module of {self._backend_id} has no writer, so that no program can be made of "
                "it alone; `to_backend` makes modules with a writer"
            )
        return self._writer(self, **options)


def add_lowered_module(root: torch.nn.Module, lowered: LoweredBackendModule) -> str:
    """Adds a module under the first free name `lowered_module_<n>`, and returns the name."""
    index = getattr(root, "_next_lowered_module", 0)
    while hasattr(root, f"lowered_module_{index}"):
        index += 1
    name = f"lowered_module_{index}"
    root.add_module(name, lowered)
    root._next_lowered_module = index + 1  # type: ignore[assignment]
    return name


def get_lowered_submodules(graph_module: GraphModule) -> list[tuple[str, LoweredBackendModule, Node]]:
    """Returns (name, lowered module, calling node) of every delegate call in the graph.

    Calls inside control flow branches are not included.
    """
    found = []
    for node in graph_module.graph.nodes:
        if is_delegate_call(node):
            attribute = node.args[0]
            assert isinstance(attribute, Node)
            found.append((attribute.name, getattr(graph_module, str(attribute.target)), node))
    return found


def get_lowered_backend_modules(graph_module: GraphModule) -> list[LoweredBackendModule]:
    """Returns the lowered modules that the graph calls, except calls inside control flow branches."""
    return [module for _, module, _ in get_lowered_submodules(graph_module)]
