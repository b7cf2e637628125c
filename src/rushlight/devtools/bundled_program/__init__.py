"""Bundled programs: a program with inputs and expected outputs of its methods in one file (.bpte)."""

from __future__ import annotations

from rushlight.devtools.bundled_program.config import (
    ConfigValue,
    DataContainer,
    MethodInputType,
    MethodOutputType,
    MethodTestCase,
    MethodTestSuite,
)
from rushlight.devtools.bundled_program.core import BundledProgram, BundleError
from rushlight.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.devtools.bundled_program.version import BUNDLED_PROGRAM_SCHEMA_VERSION

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
