"""Caches values that torch.export computes again in each call."""

from __future__ import annotations

import functools

import torch._export.utils
import torch.export.decomp_utils
import torch.export.exported_program


def remember_operators() -> None:
    """Caches torch's lists of decomposable operators, which each export computes four times.

    The lists change only when a library of operators is imported. Call this function after all such imports.
    """
    utils = torch._export.utils
    names = (
        "_collect_all_valid_cia_ops_for_namespace",
        "_materialize_cpp_cia_ops",
        "_collect_all_valid_cia_ops",
        "_collect_all_valid_cia_ops_for_aten_namespace",
    )
    for name in names:
        remembered = functools.lru_cache(maxsize=None)(getattr(utils, name))
        for module in (utils, torch.export.decomp_utils, torch.export.exported_program):
            if hasattr(module, name):
                setattr(module, name, remembered)
