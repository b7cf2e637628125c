"""Bundled programs: files (.bpte) with a program, and with inputs and expected outputs of its methods.

Names that need torch are imported at their first use. Reading a file does not need torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rushlight.devtools.bundled_program.errors import BundleError
from rushlight.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.devtools.bundled_program.version import BUNDLED_PROGRAM_SCHEMA_VERSION

if TYPE_CHECKING:
    from rushlight.devtools.bundled_program.config import (
        ConfigValue,
        DataContainer,
        MethodInputType,
        MethodOutputType,
        MethodTestCase,
        MethodTestSuite,
    )
    from rushlight.devtools.bundled_program.core import BundledProgram

__all__ = [
    "BUNDLED_PROGRAM_SCHEMA_VERSION",
    "BundleError",
    "BundledProgram",
    "ConfigValue",
    "DataContainer",
    "MethodInputType",
    "MethodOutputType",
    "MethodTestCase",
    "MethodTestSuite",
    "deserialize_from_flatbuffer_to_bundled_program",
    "serialize_from_bundled_program_to_flatbuffer",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "core" if name == "BundledProgram" else "config"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
