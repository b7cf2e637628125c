"""The exceptions of the developer tools."""

from __future__ import annotations


class DevtoolsError(RuntimeError):
    """A file of the developer tools cannot be read, or two files belong to different programs."""
