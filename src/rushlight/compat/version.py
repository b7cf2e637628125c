"""The version of ExecuTorch whose names Rushlight provides."""

from __future__ import annotations

import rushlight

__version__ = f"1.5.1+rushlight.{rushlight.__version__}"
git_version: str | None = None
