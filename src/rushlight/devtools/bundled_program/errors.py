"""Errors of making bundled programs."""

from __future__ import annotations


class BundleError(ValueError, AssertionError):
    """A test case does not fit its method. ExecuTorch raises an AssertionError."""
