"""The names of ExecuTorch's module `executorch.exir`, as in `from rushlight.exir import to_edge`."""

from __future__ import annotations

from torch.export import ExportedProgram, ExportGraphSignature

from rushlight.compiler.config import (
    CaptureConfig,
    DynamicMemoryPlanningMode,
    EdgeCompileConfig,
    ExecutorchBackendConfig,
)
from rushlight.compiler.edge import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from rushlight.compiler.executorch import ExecutorchProgramManager
from rushlight.emit.program import EmitterOutput, emit_program
from rushlight.ir import memory_ops as memory
from rushlight.ir.edge_ops import ops
from rushlight.ir.program_text import pretty_print, print_program
from rushlight.ir.text import format_graph, inspect_node

__all__ = [
    "CaptureConfig",
    "DynamicMemoryPlanningMode",
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "EmitterOutput",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "ExportGraphSignature",
    "ExportedProgram",
    "emit_program",
    "format_graph",
    "inspect_node",
    "memory",
    "ops",
    "pretty_print",
    "print_program",
    "to_edge",
    "to_edge_transform_and_lower",
]
