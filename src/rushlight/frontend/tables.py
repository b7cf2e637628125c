"""The table of decompositions: torch's table for Core ATen, with the changes for edge programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export.decomp_utils import CustomDecompTable

from rushlight.frontend.decompositions import OWN, Decomposition
from rushlight.frontend.random_decompositions import RANDOM
from rushlight.ir import custom_ops

Table = Mapping[OpOverload, Decomposition]

# Operators that torch's Core ATen table keeps and edge programs decompose.
_ALSO_DECOMPOSED = (torch.ops.aten.linalg_vector_norm.default, torch.ops.aten.addmv.default)


# Operators of other packages, by qualified name. An operator exists only if its package is loaded.
_OTHER_PACKAGES: dict[str, Decomposition] = {"transformers::grouped_mm_fallback": custom_ops.grouped_mm}

# Resampling operators whose overload `vec` torch decomposes without calling the overload `default`.
_RESAMPLING = (
    torch.ops.aten.upsample_linear1d,
    torch.ops.aten.upsample_trilinear3d,
    torch.ops.aten.upsample_bicubic2d,
    torch.ops.aten.upsample_nearest1d,
    torch.ops.aten.upsample_nearest3d,
    torch.ops.aten._upsample_nearest_exact1d,
    torch.ops.aten._upsample_nearest_exact2d,
    torch.ops.aten._upsample_nearest_exact3d,
)


def _resample(op: OpOverload) -> Decomposition:
    """Returns a decomposition of the overload `vec` that calls the overload `default`, which is `op`."""
    from torch._decomp.decompositions import get_scale_value, upsample_compute_output_size

    def decomposed(x: torch.Tensor, output_size: object, *flags: object) -> torch.Tensor:
        *flags_alone, factors = flags
        sizes = upsample_compute_output_size(x.size(), output_size, factors)
        scales = [get_scale_value(factors, dim) for dim in range(x.dim() - 2)]
        # torch decomposes some of the operators at the dispatch key Autograd, which this call must skip.
        with torch._C._AutoDispatchBelowAutograd():
            resampled: torch.Tensor = op(x, sizes, *flags_alone, *scales)
        return resampled

    return decomposed


# Quantize and dequantize operators of this library are never decomposed, because passes match them.
_QUANT_LIBRARY = "quantized_decomposed"
_QUANT_NAMES = ("quantize", "dequantize", "choose_qparams")


@cache
def _python_decompositions() -> dict[OpOverload, Decomposition]:
    from torch._decomp import _core_aten_decompositions_post_autograd, get_decompositions

    table: dict[Any, Decomposition] = dict(_core_aten_decompositions_post_autograd())
    table.update(get_decompositions(_ALSO_DECOMPOSED))
    table.update(OWN)
    table.update(RANDOM)
    return table


@cache
def _preserved_composites() -> frozenset[OpOverload]:
    from torch.export.decomp_utils import PRESERVED_ATEN_CIA_OPS

    return frozenset(PRESERVED_ATEN_CIA_OPS)


def is_quant_primitive(op: OpOverload) -> bool:
    """Whether `op` quantizes, dequantizes or chooses quantization parameters, and passes match it."""
    namespace, name = op._schema.name.split("::")
    return namespace == _QUANT_LIBRARY and name.startswith(_QUANT_NAMES)


def _of_loaded_packages() -> dict[OpOverload, Decomposition]:
    table: dict[OpOverload, Decomposition] = {}
    for name, decomposition in _OTHER_PACKAGES.items():
        namespace, operator = name.split("::")
        if torch._C._dispatch_has_kernel(name):
            table[getattr(getattr(torch.ops, namespace), operator).default] = decomposition
    return table


def python_table(preserve: Collection[OpOverload] = ()) -> dict[OpOverload, Decomposition]:
    """Returns Python decompositions to Core ATen, without the operators of `preserve`.

    If the overload `default` of a resampling operator is preserved, the overload `vec` is decomposed to it.
    """
    table = {**_python_decompositions(), **_of_loaded_packages()}
    for op in preserve:
        table.pop(op, None)
    table.update(_resamplings(preserve))
    return table


def _resamplings(preserve: Collection[OpOverload]) -> dict[OpOverload, Decomposition]:
    packets = [packet for packet in _RESAMPLING if packet.default in preserve and packet.vec not in preserve]
    return {packet.vec: _resample(packet.default) for packet in packets}


def general_table(preserve: Collection[OpOverload] = ()) -> CustomDecompTable:
    """Returns the table for `ExportedProgram.run_decompositions` with the same effect as `python_table`."""
    table = torch.export.default_decompositions()
    table.update({op: _python_decompositions()[op] for op in (*_ALSO_DECOMPOSED, *OWN, *RANDOM)})
    table.update(_of_loaded_packages())
    for op in list(table.keys()):
        if op in preserve or (isinstance(op, OpOverload) and is_quant_primitive(op)):
            table.pop(op, None)
    table.update(_resamplings(preserve))
    return table


@cache
def is_composite(op: OpOverload) -> bool:
    """Whether torch implements `op` with other operators for all backends (CompositeImplicitAutograd)."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key) or key in op.py_kernels


@cache
def is_functional(op: OpOverload) -> bool:
    """Whether, according to its schema, `op` writes no argument and returns no alias."""
    schema = op._schema
    tensors = list(schema.arguments) + list(schema.returns)
    return not schema.is_mutable and all(argument.alias_info is None for argument in tensors)


def is_view(op: OpOverload) -> bool:
    """Whether the schema of `op` declares a result that shares storage with an argument."""
    return any(result.alias_info is not None for result in op._schema.returns)


def torch_keeps(op: OpOverload) -> bool:
    """Whether torch's decomposition keeps `op`, although `op` is a composite operator."""
    return op in _preserved_composites()


def is_kept_composite(op: OpOverload, preserve: Collection[OpOverload]) -> bool:
    """Whether a composite operator is not decomposed.

    This is so if torch keeps it, or if it is in `preserve` and its schema is functional.
    """
    if torch_keeps(op) or is_quant_primitive(op):
        return True
    if op not in preserve or torch.Tag.maybe_aliasing_or_mutating in op.tags:
        return False
    return is_functional(op) and op is not torch.ops.aten.native_batch_norm.default
