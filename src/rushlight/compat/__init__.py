"""ExecuTorch's import names, mapped onto Rushlight's: code written for `executorch.*` runs unchanged."""

from rushlight.compat.install import install_as_executorch, is_installed

__all__ = ["install_as_executorch", "is_installed"]
