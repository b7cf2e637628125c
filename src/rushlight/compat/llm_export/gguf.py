"""Weights in the blocks of GGUF files, which torch.export keeps as calls of `torchao::dequantize_gguf`.

The layout of the blocks Q4_K, Q5_K and Q6_K is that of ggml (`ggml-common.h`). A block has 256 values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.utils import TorchAOBaseTensor
from typing_extensions import Self

from rushlight.compat.llm_export.int4 import ExportableInt4Tensor, compute_with_values

QK_K = 256
"""The number of values of a block."""


class BlockFormat(NamedTuple):
    """The bits of a value, the number of values with the same scale, and the bytes of a block."""

    bits: int
    group_size: int
    size: int


Q4_K, Q5_K, Q6_K = BlockFormat(4, 32, 144), BlockFormat(5, 32, 176), BlockFormat(6, 16, 210)
_FORMATS = {"q4_k": Q4_K, "q5_k": Q5_K, "q6_k": Q6_K}


def _unpacked(data: torch.Tensor, rows: int, bits: int) -> torch.Tensor:
    """Divides bytes into numbers of some bits: of each row, first the lowest bits of all bytes, and so on."""
    shifts = torch.arange(0, 8, bits, dtype=torch.uint8, device=data.device).unsqueeze(1)
    return ((data.reshape(len(data), rows, 1, -1) >> shifts) & (1 << bits) - 1).flatten(1)


def _decoded(raw: torch.Tensor, ggml_type: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns integers (int8 [n, k]), scales and minima (float32 [n, k / group size]).

    A value is scale * integer - minimum.
    """
    blocks = raw.reshape(-1, _FORMATS[ggml_type].size)
    if ggml_type == "q6_k":
        low, high, scale, factor = blocks.split([128, 64, 16, 2], 1)
        integers = (_unpacked(low, 2, 4) | _unpacked(high, 2, 2) << 4).to(torch.int8) - 32
        scale = factor.contiguous().view(torch.float16).float() * scale.contiguous().view(torch.int8)
        minimum = torch.zeros_like(scale)
    else:
        factors, packed, *high, low = blocks.split([4, 12, *([32] if ggml_type == "q5_k" else []), 128], 1)
        integers = _unpacked(low, 4, 4)
        if high:
            integers = integers | _unpacked(high[0], 1, 1) << 4
        integers = integers.to(torch.int8)
        a, b, c = packed.reshape(-1, 3, 4).unbind(1)
        d, dmin = factors.contiguous().view(torch.float16).float().split(1, 1)
        scale = d * torch.cat([a & 63, c & 15 | a >> 6 << 4], 1)
        minimum = dmin * torch.cat([b & 63, c >> 4 | b >> 6 << 4], 1)
    n = len(raw)
    return integers.reshape(n, -1), scale.reshape(n, -1), minimum.reshape(n, -1)


@torch.library.custom_op("torchao::dequantize_gguf", mutates_args=())
def dequantize_gguf(
    weight: torch.Tensor, ggml_type: str, output_dtype: torch.dtype = torch.bfloat16
) -> torch.Tensor:
    """Returns the values [n, k] of blocks. It computes in float32.

    Args:
        weight: the blocks, uint8 [n, bytes of a row].
        ggml_type: the format: "q4_k", "q5_k" or "q6_k".
        output_dtype: the dtype of the result.
    """
    integers, scale, minimum = _decoded(weight, ggml_type)
    groups = integers.reshape(*scale.shape, -1)
    values = groups.float() * scale.unsqueeze(-1) - minimum.unsqueeze(-1)
    return values.flatten(1).to(output_dtype)


@dequantize_gguf.register_fake
def _fake(weight: torch.Tensor, ggml_type: str, output_dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return weight.new_empty(_shape(weight, ggml_type), dtype=output_dtype)


def _shape(raw: torch.Tensor, ggml_type: str) -> tuple[int, int]:
    return raw.shape[0], raw.shape[1] // _FORMATS[ggml_type].size * QK_K


def merged_groups(
    scale: torch.Tensor, zero: torch.Tensor, group_size: int, max_group_size: int
) -> tuple[int, torch.Tensor, torch.Tensor]:
    """Merges neighbouring groups with equal scales and zero points, as long as all rows allow it.

    Args:
        scale: the scale of each group, [n, k / group size].
        zero: the zero point of each group, [n, k / group size].
        group_size: the number of values of a group.
        max_group_size: the largest group. Groups double.

    Returns:
        The new group size, scales and zero points. Groups of fake tensors are not merged.
    """
    while 2 * group_size <= max_group_size and scale.shape[1] % 2 == 0 and not isinstance(scale, FakeTensor):
        if any(not torch.equal(part[:, ::2], part[:, 1::2]) for part in (scale, zero)):
            break
        scale, zero = scale[:, ::2].contiguous(), zero[:, ::2].contiguous()
        group_size *= 2
    return group_size, scale, zero


class ExportableGGUFTensor(TorchAOBaseTensor):  # type: ignore[misc]
    """A matrix [n, k] in blocks. A linear layer and an embedding with this weight can be exported.

    Args:
        raw: the blocks, uint8 [n, bytes of a row].
        ggml_type: the format: "q4_k", "q5_k" or "q6_k".
        orig_dtype: the dtype of the tensor.

    """

    tensor_data_names = ["raw"]
    tensor_attribute_names = ["ggml_type", "orig_dtype"]

    raw: torch.Tensor
    ggml_type: str
    orig_dtype: torch.dtype

    def __new__(cls, raw: torch.Tensor, ggml_type: str, orig_dtype: torch.dtype) -> Self:
        """Creates the tensor around its blocks."""
        if ggml_type not in _FORMATS:
            raise NotImplementedError(f"the format {ggml_type!r} is not one of {', '.join(_FORMATS)}")
        if raw.dim() != 2 or raw.dtype != torch.uint8 or raw.shape[1] % _FORMATS[ggml_type].size:
            raise ValueError(
                f"rows of {ggml_type} are uint8, with blocks of {_FORMATS[ggml_type].size} bytes; these are "
                f"{raw.dtype} {list(raw.shape)}"
            )
        self: Any = torch.Tensor._make_wrapper_subclass(
            cls, _shape(raw, ggml_type), dtype=orig_dtype, device=raw.device, requires_grad=False
        )
        self.raw, self.ggml_type, self.orig_dtype = raw, ggml_type, orig_dtype
        found: Self = self
        return found

    @classmethod
    def from_raw(cls, raw: torch.Tensor, ggml_type: str, orig_dtype: torch.dtype = torch.bfloat16) -> Self:
        """Returns the tensor around contiguous blocks."""
        return cls(raw.contiguous(), ggml_type, orig_dtype)

    def dequantize(self, output_dtype: torch.dtype | None = None) -> torch.Tensor:
        """Returns the values [n, k], by default with the dtype of the tensor."""
        values: torch.Tensor = torch.ops.torchao.dequantize_gguf(
            self.raw, self.ggml_type, output_dtype or self.orig_dtype
        )
        return values

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Returns the tensor on another device or with another float dtype. It stays quantized."""
        wanted = self._get_to_kwargs(*args, **kwargs)
        assert wanted["dtype"].is_floating_point, f"{wanted['dtype']} is not a float dtype"
        return type(self)(self.raw.to(wanted["device"]), self.ggml_type, wanted["dtype"])

    def _affine(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns integers, scales and zero points. A value is scale * (integer - zero point)."""
        integers, scale, minimum = _decoded(self.raw, self.ggml_type)
        equal = scale == 0  # All values of such a group are -minimum, which becomes minimum * (0 - 1).
        integers = integers.masked_fill(equal.repeat_interleave(_FORMATS[self.ggml_type].group_size, 1), 0)
        zero = torch.where(equal, (minimum != 0).float(), minimum / scale)
        return integers, torch.where(equal, minimum, scale), zero

    def to_exportable_int4_tensor(self, output_dtype: torch.dtype | None = None) -> ExportableInt4Tensor:
        """Converts blocks of q4_k. The dtype is also that of scales and zero points.

        Raises:
            NotImplementedError: the tensor has another format.
        """
        if self.ggml_type != "q4_k":
            raise NotImplementedError(f"blocks of {self.ggml_type} have more than 4 bits")
        dtype = output_dtype or self.orig_dtype
        integers, *parts = self._affine()
        packed = (integers[:, ::2] | integers[:, 1::2] << 4).view(torch.uint8)
        scales, zeros = (part.to(dtype).t().contiguous() for part in parts)
        return ExportableInt4Tensor(packed, scales, zeros, Q4_K.group_size, dtype)

    def to_intx_unpacked_to_int8_tensor(
        self, max_group_size: int | None = None, scale_dtype: torch.dtype | None = None
    ) -> IntxUnpackedToInt8Tensor:
        """Converts the blocks to torchao's tensor of integers with 4, 5 or (q6_k) 8 bits.

        Args:
            max_group_size: merges groups with equal scales up to this size; None keeps all groups.
            scale_dtype: the dtype of the result, its scales and zero points; None means float16.
        """
        form, dtype = _FORMATS[self.ggml_type], scale_dtype or torch.float16
        integers, scale, zero = self._affine()
        group, scale, zero = merged_groups(scale, zero, form.group_size, max_group_size or 0)
        symmetric = form is Q6_K
        offset = 0 if symmetric else 1 << form.bits - 1  # Centers the integers around 0.
        return IntxUnpackedToInt8Tensor(
            integers - offset,
            scale.to(dtype),
            (zero - offset).to(torch.int8 if symmetric else dtype),
            torch.int8 if symmetric else getattr(torch, f"int{form.bits}"),
            (1, group),
            dtype,
            None,
        )


compute_with_values(ExportableGGUFTensor)


def iter_gguf(path: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Reads the names and tensors (`ExportableGGUFTensor`, or floats) of a GGUF file one by one.

    Raises:
        ImportError: the package gguf is not installed.
        ValueError: a tensor has another format.
    """
    try:
        import gguf
    except ImportError as error:
        raise ImportError("reading a GGUF file needs the package gguf: pip install gguf") from error
    for tensor in gguf.GGUFReader(path).tensors:
        kind = tensor.tensor_type.name
        shape = tensor.shape.tolist()[::-1]
        data = torch.from_numpy(tensor.data.copy()).view(torch.uint8)
        if kind.lower() in _FORMATS:
            yield tensor.name, ExportableGGUFTensor.from_raw(data.reshape(shape[0], -1), kind.lower())
        elif kind in (floats := {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}):
            yield tensor.name, data.reshape(-1).view(floats[kind]).reshape(shape)
        else:
            raise ValueError(
                f"{path}: the tensor {tensor.name} has the format {kind}, which is not supported"
            )
