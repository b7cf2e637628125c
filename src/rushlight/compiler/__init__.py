"""The driver of the compiler. It converts exported programs to edge programs, and edge programs to a file.

`edge.py` and `executorch.py` contain the two managers, and `config.py` contains their options.
"""

from __future__ import annotations

from rushlight.compiler.config import CaptureConfig, EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compiler.edge import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from rushlight.compiler.executorch import ExecutorchProgramManager
from rushlight.compiler.to_backend import to_backend

__all__ = [
    "CaptureConfig",
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "to_backend",
    "to_edge",
    "to_edge_transform_and_lower",
]
