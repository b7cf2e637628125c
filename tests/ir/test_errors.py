"""The errors of the compiler."""

import pytest

from rushlight.ir.errors import ExportError, ExportErrorType, InternalError, internal_assert


def test_export_errors_have_a_kind_and_a_message() -> None:
    error = ExportError(ExportErrorType.NOT_SUPPORTED, "no such thing")
    assert error.kind is ExportErrorType.NOT_SUPPORTED and "no such thing" in str(error)
    assert str(ExportError("no such thing")) == "no such thing"


def test_internal_assert() -> None:
    internal_assert(True, "holds")
    with pytest.raises(InternalError, match="does not hold"):
        internal_assert(False, "does not hold")
