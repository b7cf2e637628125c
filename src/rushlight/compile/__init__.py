"""The one driver of the compiler: from exported programs to edge programs to a program file.

`edge.py` and `executorch.py` hold the two managers, `config.py` their options, `quick.py` the one call for
those in a hurry.
"""

from __future__ import annotations

from rushlight.compile.config import CaptureConfig, EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compile.edge import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from rushlight.compile.executorch import ExecutorchProgramManager
from rushlight.compile.quick import CompiledProgram, compile

__all__ = [
    "CaptureConfig",
    "CompiledProgram",
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "compile",
    "to_edge",
    "to_edge_transform_and_lower",
]
