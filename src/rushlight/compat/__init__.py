"""ExecuTorch's modules and names, so that Python code that imports `executorch.*` runs with Rushlight."""

from rushlight.compat.install import install_as_executorch, is_installed

__all__ = ["install_as_executorch", "is_installed"]
