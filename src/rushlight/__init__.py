"""Rushlight compiles PyTorch models ahead of time, and runs them on devices with a small native runtime.

The import of this package loads neither torch nor the compiler. Each public name imports its module at its
first use.
"""

from __future__ import annotations

import gc
import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rushlight.api import compile as compile
    from rushlight.ir.progress import show_progress as show_progress
    from rushlight.memory.hierarchy import Memory as Memory
    from rushlight.runtime.errors import RushlightError as RushlightError
    from rushlight.runtime.libraries import load_library as load_library
    from rushlight.runtime.module import Module as Module
    from rushlight.runtime.module import load as load

    __version__: str

# The defining module of each public name.
_MODULES = {
    "Memory": "rushlight.memory.hierarchy",
    "Module": "rushlight.runtime.module",
    "RushlightError": "rushlight.runtime.errors",
    "compile": "rushlight.api",
    "load": "rushlight.runtime.module",
    "load_library": "rushlight.runtime.libraries",
    "show_progress": "rushlight.ir.progress",
}

__all__ = [
    "Memory",
    "Module",
    "RushlightError",
    "__version__",
    "compile",
    "load",
    "load_library",
    "show_progress",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if name == "__version__":
        value = importlib.import_module("importlib.metadata").version("rushlight")
    elif module is not None:
        value = getattr(_import(module), name)
    else:
        raise AttributeError(f"module 'rushlight' has no attribute {name!r}")
    globals()[name] = value
    return value


def _import(module: str) -> ModuleType:
    # Almost all objects that an import creates stay alive. A garbage collection during the import takes half
    # a second and frees nothing.
    collects = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "torchao"):
            raise ImportError("rushlight.compile needs torch: pip install 'rushlight[compile]'") from error
        raise
    finally:
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
