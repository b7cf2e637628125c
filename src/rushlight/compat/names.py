"""The table of ExecuTorch's public modules and the Rushlight modules that provide their contents.

The parts of the table are in `rushlight.compat.name_tables`.
"""

from __future__ import annotations

from rushlight.compat.name_tables import backends, exir, exir_passes, tools, xnnpack
from rushlight.compat.name_tables.left_out import LEFT_OUT as LEFT_OUT
from rushlight.compat.name_tables.left_out import VENDORS as VENDORS
from rushlight.compat.name_tables.table import Names as Names

MODULES: dict[str, Names] = {
    **exir.MODULES,
    **exir_passes.MODULES,
    **backends.MODULES,
    **xnnpack.MODULES,
    **tools.MODULES,
}
"""The contents of ExecuTorch's modules, by module name."""
