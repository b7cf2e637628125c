"""Rushlight: PyTorch models, prepared ahead of time and run on devices by a small native runtime.

Importing the package loads neither torch nor the compiler; each name loads what it needs at its first use.
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

# Public name: the module that defines it.
_HOMES = {
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
    home = _HOMES.get(name)
    if name == "__version__":
        value = importlib.import_module("importlib.metadata").version("rushlight")
    elif home is not None:
        value = getattr(_import(home), name)
    else:
        raise AttributeError(f"module 'rushlight' has no attribute {name!r}")
    globals()[name] = value
    return value


def _import(module: str) -> ModuleType:
    # Imports make objects that stay: a garbage collection among them takes half a second and frees nothing.
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
