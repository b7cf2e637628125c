"""The committed stub of the extension module is equal to nanobind's."""

from __future__ import annotations

from pathlib import Path

from nanobind.stubgen import StubGen

from rushlight.runtime import _native

STUB = Path(__file__).parents[2] / "src" / "rushlight" / "runtime" / "_native.pyi"


def test_stub_is_up_to_date() -> None:
    generator = StubGen(_native)
    generator.put(_native)
    assert generator.get() == STUB.read_text(), "copy it from build/*/runtime/python"
