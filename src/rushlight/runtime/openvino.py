"""Finds the C library of the installed package `openvino`. OpenvinoBackend loads it on demand."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def library_path() -> str | None:
    """Returns the path of OpenVINO's C library, or None if the package is not installed.

    The package is not imported.
    """
    spec = importlib.util.find_spec("openvino")
    for folder in (spec and spec.submodule_search_locations) or ():
        found = sorted(Path(folder, "libs").glob("libopenvino_c.*"))
        if found:
            return str(found[0])
    return None
