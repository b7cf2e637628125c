"""Calibrates on parts of the data, and merges the observers of all parts."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node

from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.flow import calibrate
from rushlight.quantize.inputs import Inputs
from rushlight.quantize.observers import Checked


class ShardCalibration:
    """Runs a prepared model on parts of the data.

    Args:
        prepared: the result of `prepare_pt2e`, which has seen no data.

    Raises:
        QuantizationError: the statistics of an observer of the model cannot be merged.
    """

    def __init__(self, prepared: GraphModule) -> None:
        self._prepared = prepared
        self._empty = {name: copy.deepcopy(part) for name, part in observers(prepared).items()}

    def observe(self, data: Iterable[Inputs]) -> dict[str, torch.nn.Module]:
        """Returns the observers by name. They have seen these data only.

        Args:
            data: inputs; each item is a tuple of arguments or one tensor.

        Raises:
            QuantizationError: see `calibrate`.
        """
        for name, observer in self._empty.items():
            self._prepared.set_submodule(name, copy.deepcopy(observer))
        calibrate(self._prepared, data)
        return {name: self._prepared.get_submodule(name) for name in self._empty}


def absorb(prepared: GraphModule, seen: Mapping[str, object]) -> None:
    """Adds the statistics of one part of the data to the observers of a prepared model.

    Args:
        prepared: the same model, prepared with the same quantizer.
        seen: the result of `ShardCalibration.observe`.
    """
    for name, observer in observers(prepared).items():
        observer.absorb(seen[name])


def observers(prepared: GraphModule) -> dict[str, Any]:
    """Returns the observers of activations that collect data, by name.

    Raises:
        QuantizationError: the statistics of an observer cannot be merged.
    """
    found: dict[str, object] = {}
    for node in prepared.graph.nodes:
        source = node.args[0] if node.op == "call_module" and node.args else None
        if not isinstance(source, Node) or source.op == "get_attr":
            continue
        observer = prepared.get_submodule(str(node.target))
        if isinstance(observer, Checked):
            found[str(node.target)] = observer
        elif set(dict(observer.named_buffers())) - {"eps"}:
            raise QuantizationError(
                f"{type(observer).__name__} cannot merge the statistics of several parts of the data; "
                "use a configuration of rushlight.quantize"
            )
    return found
