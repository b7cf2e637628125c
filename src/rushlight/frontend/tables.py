"""Which operators decompose, and by what: torch's Core ATen table and what edge programs change in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export.decomp_utils import CustomDecompTable

from rushlight.frontend.decompositions import OWN, Decomposition
from rushlight.ir import custom_ops

Table = Mapping[OpOverload, Decomposition]

# Edge programs decompose these though torch's table of Core ATen keeps them.
_ALSO_DECOMPOSED = (torch.ops.aten.linalg_vector_norm.default, torch.ops.aten.addmv.default)


# Operators of other packages, by qualified name: they are there if the package is loaded.
_ELSEWHERE: dict[str, Decomposition] = {"transformers::grouped_mm_fallback": custom_ops.grouped_mm}

# Resampling operators that torch's decompositions expand from their overload `vec`.
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
    """The overload `vec` by the `default` one, `op`."""
    from torch._decomp.decompositions import get_scale_value, upsample_compute_output_size

    def decomposed(x: torch.Tensor, output_size: object, *flags: object) -> torch.Tensor:
        *flags_alone, factors = flags
        sizes = upsample_compute_output_size(x.size(), output_size, factors)
        scales = [get_scale_value(factors, dim) for dim in range(x.dim() - 2)]
        # torch expands some of them at the autograd key.
        with torch._C._AutoDispatchBelowAutograd():
            resampled: torch.Tensor = op(x, sizes, *flags_alone, *scales)
        return resampled

    return decomposed


# Quantized programs are matched by their quantize and dequantize operators.
_QUANT_LIBRARIES = ("quantized_decomposed", "torchao")
_QUANT_NAMES = ("quantize", "dequantize", "choose_qparams")


@cache
def _python_decompositions() -> dict[OpOverload, Decomposition]:
    from torch._decomp import _core_aten_decompositions_post_autograd, get_decompositions

    table: dict[Any, Decomposition] = dict(_core_aten_decompositions_post_autograd())
    table.update(get_decompositions(_ALSO_DECOMPOSED))
    table.update(OWN)
    return table


@cache
def _preserved_composites() -> frozenset[OpOverload]:
    from torch.export.decomp_utils import PRESERVED_ATEN_CIA_OPS

    return frozenset(PRESERVED_ATEN_CIA_OPS)


def is_quant_primitive(op: OpOverload) -> bool:
    """Whether `op` quantizes, dequantizes or chooses quantization parameters."""
    namespace, name = op._schema.name.split("::")
    return namespace in _QUANT_LIBRARIES and name.startswith(_QUANT_NAMES)


def _loaded_elsewhere() -> dict[OpOverload, Decomposition]:
    table: dict[OpOverload, Decomposition] = {}
    for name, decomposition in _ELSEWHERE.items():
        namespace, operator = name.split("::")
        if torch._C._dispatch_has_kernel(name):
            table[getattr(getattr(torch.ops, namespace), operator).default] = decomposition
    return table


def python_table(preserve: Collection[OpOverload] = ()) -> dict[OpOverload, Decomposition]:
    """Python decompositions to Core ATen, without the operators of `preserve`.

    Of a preserved resampling operator the overload `vec` becomes the `default` one.
    """
    table = {**_python_decompositions(), **_loaded_elsewhere()}
    for op in preserve:
        table.pop(op, None)
    table.update(_resamplings(preserve))
    return table


def _resamplings(preserve: Collection[OpOverload]) -> dict[OpOverload, Decomposition]:
    wanted = [packet for packet in _RESAMPLING if packet.default in preserve and packet.vec not in preserve]
    return {packet.vec: _resample(packet.default) for packet in wanted}


def general_table(preserve: Collection[OpOverload] = ()) -> CustomDecompTable:
    """The table for `ExportedProgram.run_decompositions` that means the same as `decomposes` below."""
    table = torch.export.default_decompositions()
    table.update({op: _python_decompositions()[op] for op in (*_ALSO_DECOMPOSED, *OWN)})
    table.update(_loaded_elsewhere())
    for op in list(table.keys()):
        if op in preserve or (isinstance(op, OpOverload) and is_quant_primitive(op)):
            table.pop(op, None)
    table.update(_resamplings(preserve))
    return table


@cache
def is_composite(op: OpOverload) -> bool:
    """Whether torch defines `op` by other operators for every backend; it has no kernel of its own."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key) or key in op.py_kernels


@cache
def is_functional(op: OpOverload) -> bool:
    """Whether the schema neither writes nor aliases."""
    schema = op._schema
    tensors = list(schema.arguments) + list(schema.returns)
    return not schema.is_mutable and all(argument.alias_info is None for argument in tensors)


def torch_keeps(op: OpOverload) -> bool:
    """Whether torch's own decomposition leaves `op` whole though torch defines it by other operators."""
    return op in _preserved_composites()


def is_kept_composite(op: OpOverload, preserve: Collection[OpOverload]) -> bool:
    """Whether a composite operator stays whole: torch keeps it, or the user asks and its schema allows it."""
    if torch_keeps(op) or is_quant_primitive(op):
        return True
    if op not in preserve or torch.Tag.maybe_aliasing_or_mutating in op.tags:
        return False
    return is_functional(op) and op is not torch.ops.aten.native_batch_norm.default
