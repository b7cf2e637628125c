"""Remembers what torch.export finds out anew at each call."""

from __future__ import annotations

import functools

import torch._export.utils
import torch.export.decomp_utils
import torch.export.exported_program


def remember_operators() -> None:
    """Lists the operators that torch can decompose once in a process instead of four times an export.

    The lists change only when a library of operators is imported, so that this is for processes that have
    imported all they need.
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
