"""Where the installed `openvino` package keeps its library; OpenvinoBackend asks when a program needs it."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def library_path() -> str | None:
    """The path of OpenVINO's C library, None if there is no such package. The package is not imported."""
    spec = importlib.util.find_spec("openvino")
    for folder in (spec and spec.submodule_search_locations) or ():
        found = sorted(Path(folder, "libs").glob("libopenvino_c.*"))
        if found:
            return str(found[0])
    return None
