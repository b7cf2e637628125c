"""Weights of 4 bits that torch.export keeps as a call of `torchao::dequantize_int4_tensor`.

The compiler replaces calls with stored weights by `quantized_decomposed::dequantize_per_channel_group`, which
backends fuse with the matrix product.
"""

from __future__ import annotations

from typing import Any

import torch
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor
from torchao.utils import TorchAOBaseTensor
from typing_extensions import Self

from rushlight.compat.llm_export import int4_ops  # noqa: F401  (defines torchao::dequantize_int4_tensor)

aten = torch.ops.aten
_OFFSET = 8  # The stored values are unsigned: 0 to 15 instead of -8 to 7.


class ExportableInt4Tensor(TorchAOBaseTensor):  # type: ignore[misc]
    """A matrix [n, k] of 4-bit integers. A linear layer and an embedding with this weight can be exported.

    Args:
        qdata: the integers, uint8 [n, k / 2]. The lower half of a byte is the first of two values, which are
            from 0 to 15.
        scale: the scale of each group, float [k / group_size, n].
        zero_point: the zero point of each group, [k / group_size, n].
        group_size: the number of consecutive values of a row with the same scale.
        orig_dtype: the dtype of the tensor.
    """

    tensor_data_names = ["qdata", "scale", "zero_point"]
    tensor_attribute_names = ["group_size", "orig_dtype"]

    qdata: torch.Tensor
    scale: torch.Tensor
    zero_point: torch.Tensor
    group_size: int
    orig_dtype: torch.dtype

    def __new__(
        cls,
        qdata: torch.Tensor,
        scale: torch.Tensor,
        zero_point: torch.Tensor,
        group_size: int,
        orig_dtype: torch.dtype,
    ) -> Self:
        """Creates the tensor around its parts."""
        shape = (qdata.shape[0], 2 * qdata.shape[1])
        self: Any = torch.Tensor._make_wrapper_subclass(
            cls, shape, dtype=orig_dtype, device=qdata.device, requires_grad=False
        )
        self.qdata, self.scale, self.zero_point = qdata, scale, zero_point
        self.group_size, self.orig_dtype = group_size, orig_dtype
        found: Self = self
        return found

    @classmethod
    def from_int4_tensor(cls, w: Int4Tensor) -> Self:
        """Returns the tensor with the parts of torchao's `Int4Tensor`."""
        return cls(w.qdata, w.scale, w.zero_point, int(w.block_size[-1]), w.dtype)

    @classmethod
    def from_intx_unpacked_to_int8_tensor(cls, w: IntxUnpackedToInt8Tensor) -> Self:
        """Packs torchao's tensor of 4-bit integers, which are stored as int8.

        Raises:
            ValueError: the integers have another number of bits, or the tensor also quantizes activations.
        """
        if w.target_dtype is not torch.int4:  # type: ignore[attr-defined]
            raise ValueError(f"a tensor of {w.target_dtype} cannot be packed; only torch.int4 can")
        if w.activation_quantization is not None:
            raise ValueError("a tensor that quantizes activations too cannot be packed: only weights can")
        unsigned = (w.qdata.to(torch.int16) + _OFFSET).to(torch.uint8)
        return cls(
            unsigned[:, ::2] | (unsigned[:, 1::2] << 4),
            w.scale.t().contiguous(),
            (w.zero_point.to(w.scale.dtype) + _OFFSET).t().contiguous(),
            int(w.block_size[-1]),
            w.dtype,
        )

    def dequantize(self, output_dtype: torch.dtype | None = None) -> torch.Tensor:
        """Returns the values [n, k].

        Args:
            output_dtype: their dtype; None means the dtype of the tensor.
        """
        values: torch.Tensor = torch.ops.torchao.dequantize_int4_tensor(
            self.qdata,
            self.scale,
            self.zero_point,
            self.group_size,
            output_dtype=output_dtype or self.orig_dtype,
        )
        return values

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Returns the tensor on another device or with another dtype. It stays quantized.

        Raises:
            AssertionError: the dtype is not a float dtype.
        """
        wanted = self._get_to_kwargs(*args, **kwargs)
        device, dtype = wanted["device"], wanted["dtype"]
        assert dtype.is_floating_point, f"{dtype} is not a float dtype"
        return type(self)(
            self.qdata.to(device),
            self.scale.to(device, dtype),
            self.zero_point.to(device, dtype),
            self.group_size,
            dtype,
        )


def _linear(func: Any, types: Any, args: tuple[Any, ...], kwargs: Any) -> torch.Tensor:
    x, weight, *bias = args
    bias = bias or [(kwargs or {}).get("bias")]
    return torch.nn.functional.linear(x, weight.dequantize(x.dtype), *bias)


def _embedding(func: Any, types: Any, args: tuple[Any, ...], kwargs: Any) -> torch.Tensor:
    weight, indices = args[:2] if func is aten.embedding.default else args[1::-1]
    return torch.nn.functional.embedding(indices, weight.dequantize())


def _transpose(func: Any, types: Any, args: tuple[Any, ...], kwargs: Any) -> torch.Tensor:
    values: torch.Tensor = args[0].dequantize()
    return values.t()


def _same(func: Any, types: Any, args: tuple[Any, ...], kwargs: Any) -> torch.Tensor:
    tensor: torch.Tensor = args[0]
    return tensor


def _convert(func: Any, types: Any, args: tuple[Any, ...], kwargs: Any) -> torch.Tensor:
    values: torch.Tensor = args[0].dequantize((kwargs or {}).get("dtype"))
    return values


def compute_with_values(kind: Any) -> None:
    """Lets operators read the values of a class of quantized matrices, which have `dequantize(dtype)`."""
    for ops, function in (
        ([aten.linear.default], _linear),
        ([aten.embedding.default], _embedding),
        ([aten.t.default], _transpose),
        ([aten.detach.default, aten.alias.default], _same),
        ([aten._to_copy.default], _convert),
    ):
        kind.implements(ops)(function)
    # torch.export records what these functions call. Without them, it would record linear with the weight.
    kind.implements_torch_function([torch.nn.functional.linear])(_linear)
    kind.implements_torch_function([torch.nn.functional.embedding])(_embedding)


compute_with_values(ExportableInt4Tensor)
