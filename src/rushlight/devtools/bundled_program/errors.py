"""The exceptions of bundled programs."""

from __future__ import annotations


class BundleError(ValueError, AssertionError):
    """A test case does not fit its method. This is also an AssertionError, as in ExecuTorch."""
