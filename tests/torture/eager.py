"""Torch's control flow in plain Python, so that eager runs do not trace or compile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
import torch._higher_order_ops


def _cond(condition: Any, yes: Any, no: Any, operands: Any = ()) -> Any:
    return yes(*operands) if condition else no(*operands)


def _while_loop(condition: Any, body: Any, carried: Any) -> Any:
    while condition(*carried):
        carried = body(*carried)
    return tuple(carried)


def _map(function: Any, rows: Any, *operands: Any) -> Any:
    return torch.stack([function(row, *operands) for row in rows.unbind(0)])


def _scan(function: Any, carried: Any, rows: Any) -> Any:
    results = []
    for row in rows.unbind(0):
        carried, result = function(carried, row)
        results.append(result)
    return carried, torch.stack(results)


@contextmanager
def plain_control_flow() -> Iterator[None]:
    """Replaces torch.cond and the like while eager code runs."""
    ops = torch._higher_order_ops
    with (
        mock.patch.object(torch, "cond", _cond),
        mock.patch.object(torch, "while_loop", _while_loop),
        mock.patch.object(ops, "map", _map),
        mock.patch.object(ops, "scan", _scan),
    ):
        yield
