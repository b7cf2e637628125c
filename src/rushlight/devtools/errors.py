"""The exceptions of the developer tools."""

from __future__ import annotations

import zipfile
import zlib


class DevtoolsError(RuntimeError):
    """A file of the developer tools cannot be read, or two files belong to different programs."""


DAMAGED_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""What zipfile raises for archives that are damaged, encrypted, or compressed in an unknown way."""
