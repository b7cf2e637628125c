"""Converts quantized weights, concatenates them, and assigns them to a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import nn
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor
from torchao.utils import TorchAOBaseTensor

from rushlight.compat.llm_export.gguf import ExportableGGUFTensor
from rushlight.compat.llm_export.int4 import ExportableInt4Tensor

Convert: TypeAlias = Callable[[str, torch.Tensor], torch.Tensor]
"""Converts a weight. The arguments are its qualified name and the weight."""

# For each class of weights, the dimension of each part that has the output channels.
_CHANNELS: dict[type, dict[str, int]] = {
    ExportableGGUFTensor: {"raw": 0},
    ExportableInt4Tensor: {"qdata": 0, "scale": 1, "zero_point": 1},
    IntxUnpackedToInt8Tensor: {"qdata": 0, "scale": 0, "zero_point": 0},
}


def identity(fqn: str, w: torch.Tensor) -> torch.Tensor:
    """Returns the weight unchanged."""
    return w


def to_exportable(fqn: str, w: torch.Tensor) -> torch.Tensor:
    """Returns torchao's `Int4Tensor` as `ExportableInt4Tensor`, and other weights unchanged.

    Args:
        fqn: the qualified name of the weight.
        w: the weight.
    """
    return ExportableInt4Tensor.from_int4_tensor(w) if isinstance(w, Int4Tensor) else w


def to_default(fqn: str, w: torch.Tensor) -> torch.Tensor:
    """Returns all weights with 4 bits as `ExportableInt4Tensor`, and other weights unchanged.

    Args:
        fqn: the qualified name of the weight.
        w: the weight.

    Raises:
        ValueError: a weight with 4 bits also quantizes activations.
    """
    if isinstance(w, IntxUnpackedToInt8Tensor) and w.target_dtype is torch.int4:  # type: ignore[attr-defined]
        return ExportableInt4Tensor.from_intx_unpacked_to_int8_tensor(w)
    return to_exportable(fqn, w)


def maybe_cast(value: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    """Returns a weight with another dtype, if it is a float tensor.

    A quantized weight stays quantized: only its scales and the dtype of its values change. torchao's
    `Int4Tensor`, whose dtype cannot be changed, and other subclasses are returned unchanged.

    Args:
        value: the weight.
        dtype: the dtype; None leaves the weight unchanged.
    """
    if dtype is None or value.dtype == dtype or not value.dtype.is_floating_point:
        return value
    return value.to(dtype) if type(value) in (torch.Tensor, *_CHANNELS) else value


def fuse_along_output(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Concatenates weights along their output channels, for example those of query, key and value.

    Args:
        tensors: weights [n, k] of the same class, with the same k and the same quantization.

    Returns:
        A weight of this class; the only weight unchanged if there is only one.

    Raises:
        ValueError: there is no weight, or the quantization differs.
        TypeError: the classes differ, or weights of this class cannot be concatenated.
    """
    if not tensors:
        raise ValueError("there are no weights to concatenate")
    first = tensors[0]
    if len(tensors) == 1:
        return first
    quantized = [isinstance(tensor, TorchAOBaseTensor) for tensor in tensors]
    kinds = {type(tensor).__name__ for tensor in tensors}
    if len(set(quantized)) > 1 or (quantized[0] and len(kinds) > 1):
        raise TypeError(f"weights of different classes cannot be concatenated: {', '.join(sorted(kinds))}")
    if not quantized[0]:
        return torch.cat(list(tensors))
    channels = _CHANNELS.get(type(first))
    if channels is None:
        raise TypeError(f"weights of the class {type(first).__name__} cannot be concatenated")
    kind: Any = type(first)
    attributes = {name: getattr(first, name) for name in kind.tensor_attribute_names}
    for name, expected in attributes.items():
        for tensor in tensors:
            if getattr(tensor, name) != expected:
                raise ValueError(
                    f"the weights have different values of {name}: {expected} and {getattr(tensor, name)}"
                )
    parts = [torch.cat([getattr(t, name) for t in tensors], dim) for name, dim in channels.items()]
    fused: torch.Tensor = kind(*parts, *attributes.values())
    return fused


def assign_one(model: nn.Module, fqn: str, value: torch.Tensor) -> None:
    """Stores a weight in a model: as a parameter if the model has a parameter there, otherwise as a buffer.

    Args:
        model: the model.
        fqn: the qualified name of the weight.
        value: the weight.
    """
    path, _, name = fqn.rpartition(".")
    module = model.get_submodule(path)
    if isinstance(getattr(module, name, None), nn.Parameter):
        setattr(module, name, nn.Parameter(value, requires_grad=False))
    else:
        module.register_buffer(name, value)


def assert_all_materialized(model: nn.Module) -> None:
    """Checks that each parameter of a model has a value.

    Raises:
        RuntimeError: a parameter is on the meta device.
    """
    missing = [name for name, parameter in model.named_parameters() if parameter.is_meta]
    if missing:
        raise RuntimeError(f"these weights of the model have no values: {', '.join(missing)}")


def assign_state_dict(
    model: nn.Module, state_dict: Mapping[str, torch.Tensor], convert: Convert = to_default
) -> None:
    """Stores weights in a model, whose parameters then need no gradients.

    Args:
        model: the model. Its parameters may be on the meta device.
        state_dict: the weights by qualified name.
        convert: converts each weight.

    Raises:
        RuntimeError: a parameter of the model has no value then.
    """
    for fqn, value in state_dict.items():
        assign_one(model, fqn, convert(fqn, value))
    assert_all_materialized(model)
    model.requires_grad_(False)
