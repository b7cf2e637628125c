"""ExecuTorch's import names: code that is written for `executorch.*` runs unchanged with Rushlight."""

from rushlight.compat.install import install_as_executorch, is_installed

__all__ = ["install_as_executorch", "is_installed"]
