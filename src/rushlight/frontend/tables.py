"""Which operators decompose, and by what: torch's Core ATen table and what edge programs change in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from rushlight.ir import own_ops

Decomposition = Callable[..., Any]
Table = Mapping[OpOverload, Decomposition]

# Edge programs decompose these though torch's table keeps them.
_ALSO_DECOMPOSED = (torch.ops.aten.linalg_vector_norm.default,)


def _shift(op: Any, factor: float) -> Decomposition:
    def decomposed(x: torch.Tensor, count: Any) -> torch.Tensor:
        if x.dtype.is_floating_point:
            return torch.mul(x, torch.pow(factor, count))
        shifted: torch.Tensor = op(x, count)
        return shifted

    return decomposed


def _convert(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    converted: torch.Tensor = torch.ops.aten._to_copy.default(x, dtype=dtype)
    return converted


# Operators that torch's decompositions leave or make, and for which there are no out variants.
_OWN: dict[Any, Decomposition] = {
    torch.ops.aten.__lshift__.Scalar: _shift(torch.bitwise_left_shift, 2.0),
    torch.ops.aten.__lshift__.Tensor: _shift(torch.bitwise_left_shift, 2.0),
    torch.ops.aten.__rshift__.Scalar: _shift(torch.bitwise_right_shift, 0.5),
    torch.ops.aten.__rshift__.Tensor: _shift(torch.bitwise_right_shift, 0.5),
    torch.ops.prims.convert_element_type.default: _convert,
}


def _rrelu(
    x: torch.Tensor,
    noise: torch.Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    if training:
        return NotImplemented
    return torch.ops.aten.leaky_relu.default(x, (lower + upper) / 2), noise


def _index_reduce(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    shape = [1] * source.dim()
    if shape:
        shape[dim] = -1
    everywhere = index.reshape(shape).expand(source.shape)
    result: torch.Tensor = torch.ops.aten.scatter_reduce.two(
        x, dim, everywhere, source, reduce, include_self=include_self
    )
    return result


def _conj(x: torch.Tensor) -> torch.Tensor:
    conjugate: torch.Tensor = torch.ops.aten._conj_physical.default(x)
    return conjugate


def _addbmm(
    x: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> torch.Tensor:
    product = torch.bmm(batch1, batch2).sum(0)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return product + (x if beta == 1 else x * beta)


def _pseudo_inverse(
    x: torch.Tensor,
    *,
    atol: torch.Tensor | None = None,
    rtol: torch.Tensor | None = None,
    hermitian: bool = False,
) -> Any:
    """Singular values at most max(atol, rtol * the largest) count as zero."""
    if 0 in x.shape:
        return NotImplemented
    if hermitian:
        values, u = torch.linalg.eigh(x)
        s, vh = values.abs(), torch.sgn(values)[..., None] * u.mT
    else:
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
    least = torch.finfo(x.dtype).eps * max(x.shape[-2:]) if rtol is None else rtol[..., None]
    if atol is not None:
        if rtol is None:
            least = torch.where(atol[..., None] > 0, 0.0, least)
        limit = torch.maximum(atol[..., None], least * s.amax(-1, True))
    else:
        limit = s.amax(-1, True) * least
    inverted = torch.where(s > limit, s.reciprocal(), 0.0)
    return vh.mT @ (inverted[..., None] * u.mT)


def _empty_permuted(size: Any, order: Any, *, dtype: Any = None, **options: Any) -> torch.Tensor:
    return torch.empty(size, dtype=dtype)


def _checked_elsewhere(info: torch.Tensor, name: str, *, is_matrix: bool) -> None:
    """Kernels report a singular matrix themselves."""


_OWN.update(
    {
        torch.ops.aten.rrelu_with_noise_functional.default: _rrelu,
        torch.ops.aten.index_reduce.default: _index_reduce,
        torch.ops.aten._conj.default: _conj,
        torch.ops.aten.addbmm.default: _addbmm,
        torch.ops.aten.linalg_pinv.atol_rtol_tensor: _pseudo_inverse,
        torch.ops.aten.empty_permuted.default: _empty_permuted,
        torch.ops.aten._linalg_check_errors.default: _checked_elsewhere,
    }
)

# Operators of other packages, by qualified name: they are there if the package is loaded.
_ELSEWHERE: dict[str, Decomposition] = {"transformers::grouped_mm_fallback": own_ops.grouped_mm}

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

    def decomposed(x: torch.Tensor, output_size: Any, *flags: Any) -> torch.Tensor:
        *flags_alone, factors = flags
        sizes: Any = upsample_compute_output_size(x.size(), output_size, factors)
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
    table.update(_OWN)
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


def general_table(preserve: Collection[OpOverload] = ()) -> Any:
    """The table for `ExportedProgram.run_decompositions` that means the same as `decomposes` below."""
    table: Any = torch.export.default_decompositions()
    table.update({op: _python_decompositions()[op] for op in (*_ALSO_DECOMPOSED, *_OWN)})
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


def is_kept_composite(op: OpOverload, preserve: Collection[OpOverload]) -> bool:
    """Whether a composite operator stays whole: torch keeps it, or the user asks and its schema allows it."""
    if op in _preserved_composites() or is_quant_primitive(op):
        return True
    if op not in preserve or torch.Tag.maybe_aliasing_or_mutating in op.tags:
        return False
    return is_functional(op) and op is not torch.ops.aten.native_batch_norm.default
