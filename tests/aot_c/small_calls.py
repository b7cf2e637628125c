"""The C code in the docstrings of `aot_c/generators`; `python -m tests.aot_c.small_calls` writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import torch
from tests.aot_c.one_call import CallProgram

from rushlight.aot_c import generators
from rushlight.aot_c.program import c_program

FOLDER = Path(generators.__file__).parent
WITHOUT = {"__init__", "table"}
"""The files that generate no C code."""

_FUNCTION = re.compile(r"^static [^;{]*\) \{\n.*?^\}\n", re.M | re.S)


@dataclass(frozen=True)
class Example:
    """A kernel call.

    Attributes:
        call: the call in words, as in the docstring.
        operator: the operator with its overload.
        arguments: the arguments; only the shapes, strides and dtypes of tensors are important.
        out: the result.
        others: other results.
    """

    call: str
    operator: str
    arguments: Sequence[Any]
    out: torch.Tensor
    others: Sequence[torch.Tensor] = ()

    def c_code(self) -> str:
        """Returns the C function of the call."""
        program = CallProgram()
        program.add(self.operator, self.arguments, [self.out, *self.others])
        text = c_program(program.bytes(), "example").files["example.c"]
        return _FUNCTION.findall(text)[-1]

    def docstring(self) -> str:
        """Returns the part of a docstring that shows the call and its C function."""
        return f"Example: {self.call}.\n\n{indent(self.c_code(), '    ')}"


def _f(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def _i8(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int8)


def _c64(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.complex64)


def _i64(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int64)


EXAMPLES = {
    "activations": Example("`silu` of float32[4]", "aten::silu.out", [_f(4)], _f(4)),
    "advanced_indexing": Example(
        "`index_put` of one value to the elements of float32[4] that a mask selects",
        "aten::index_put.out",
        [_f(4), [torch.zeros(4, dtype=torch.bool)], _f(1), False],
        _f(4),
    ),
    "arithmetic": Example(
        "`add` of float32[4] and float32[4] with alpha = 2", "aten::add.out", [_f(4), _f(4), 2], _f(4)
    ),
    "columns": Example(
        "`im2col` of float32[1, 1, 3, 3] with windows of 2 x 2",
        "aten::im2col.out",
        [_f(1, 1, 3, 3), [2, 2], [1, 1], [0, 0], [1, 1]],
        _f(1, 4, 4),
    ),
    "comparisons": Example("`clamp` of float32[4] to 0 and 6", "aten::clamp.out", [_f(4), 0.0, 6.0], _f(4)),
    "complex_numbers": Example(
        "`mul` of complex64[4] and complex64[4]", "aten::mul.out", [_c64(4), _c64(4)], _c64(4)
    ),
    "convolution": Example(
        "`convolution` of float32[1, 2, 5] with weights [3, 2, 3], a bias and padding 1",
        "aten::convolution.out",
        [_f(1, 2, 5), _f(3, 2, 3), _f(3), [1], [1], [1], False, [0], 1],
        _f(1, 3, 5),
    ),
    "copies": Example(
        "`permute_copy` of float32[2, 3] to [3, 2]", "aten::permute_copy.out", [_f(2, 3), [1, 0]], _f(3, 2)
    ),
    "elementwise": Example(
        "`mul` of int64[2, 3] and float32[3], which is broadcast",
        "aten::mul.out",
        [_i64(2, 3), _f(3)],
        _f(2, 3),
    ),
    "embedding_bags": Example(
        "`_embedding_bag` of sums of rows of a table float32[5, 3]; four indices form two bags",
        "aten::_embedding_bag.out",
        [_f(5, 3), _i64(4), _i64(2), False, 0, False, None, False, -1],
        _f(2, 3),
        [_i64(0), _i64(0), _i64(0)],
    ),
    "fills": Example(
        "`arange` from 0 to 6 in steps of 2, to float32[3]", "aten::arange.start_out", [0, 6, 2], _f(3)
    ),
    "floating_parts": Example(
        "`nextafter` of float32[4] and float32[4]", "aten::nextafter.out", [_f(4), _f(4)], _f(4)
    ),
    "functions": Example("`exp` of float32[4]", "aten::exp.out", [_f(4)], _f(4)),
    "gemm": Example(
        "`mm` of float32[2, 3] and float32[3, 4]",
        "aten::mm.out",
        [_f(2, 3), _f(3, 4)],
        _f(2, 4),
    ),
    "indexing": Example(
        "`embedding` of two indices in a table float32[5, 3]",
        "aten::embedding.out",
        [_f(5, 3), _i64(2), -1, False, False],
        _f(2, 3),
    ),
    "normalization": Example(
        "`_softmax` of float32[2, 3] along the last dimension",
        "aten::_softmax.out",
        [_f(2, 3), 1, False],
        _f(2, 3),
    ),
    "norms": Example(
        "`_pdist_forward` of three points, with p = 2", "aten::_pdist_forward.out", [_f(3, 2), 2.0], _f(3)
    ),
    "pooling": Example(
        "`avg_pool2d` of float32[1, 1, 4, 4] with windows of 2 x 2",
        "aten::avg_pool2d.out",
        [_f(1, 1, 4, 4), [2, 2], [2, 2], [0, 0], False, True, None],
        _f(1, 1, 2, 2),
    ),
    "quantization": Example(
        "`quantize_per_tensor` of float32[4] to int8",
        "quantized_decomposed::quantize_per_tensor.out",
        [_f(4), 0.5, 3, -128, 127, torch.int8],
        _i8(4),
    ),
    "dynamic": Example(
        "`choose_qparams_per_token_symmetric` of float32[2, 3]",
        "rushlight::choose_qparams_per_token_symmetric.out",
        [_f(2, 3), -128, 127, 1e-5, torch.int8],
        _f(2, 1),
        [_i64(2, 1)],
    ),
    "quantized": Example(
        "`quantized_mean` of int8[2, 3] over the last dimension",
        "rushlight::quantized_mean.out",
        [_i8(2, 3), 0.5, 3, [1], False, 0.25, -2, -128, 127],
        _i8(2),
    ),
    "reductions": Example(
        "`any` of int64[2, 3] along the last dimension",
        "aten::any.out",
        [_i64(2, 3), 1, False],
        torch.zeros(2, dtype=torch.bool),
    ),
    "resampling": Example(
        "`upsample_bilinear2d` of float32[1, 1, 1, 2] to [1, 1, 1, 3]",
        "aten::upsample_bilinear2d.out",
        [_f(1, 1, 1, 2), [1, 3], False, None, None],
        _f(1, 1, 1, 3),
    ),
    "resampling_bytes": Example(
        "`upsample_bilinear2d` of uint8[1, 1, 1, 2] to [1, 1, 1, 3]",
        "aten::upsample_bilinear2d.out",
        [torch.zeros(1, 1, 1, 2, dtype=torch.uint8), [1, 3], False, None, None],
        torch.zeros(1, 1, 1, 3, dtype=torch.uint8),
    ),
    "sampling": Example(
        "linear `grid_sampler_2d` of float32[1, 1, 4, 4] at three points, with zeros outside",
        "aten::grid_sampler_2d.out",
        [_f(1, 1, 4, 4), _f(1, 1, 3, 2), 0, 0, False],
        _f(1, 1, 1, 3),
    ),
    "scans": Example(
        "`cumsum` of float32[2, 3] along the last dimension",
        "aten::cumsum.out",
        [_f(2, 3), 1, None],
        _f(2, 3),
    ),
    "scattering": Example(
        "`masked_scatter` of two values to float32[4]",
        "aten::masked_scatter.out",
        [_f(4), torch.zeros(4, dtype=torch.bool), _f(2)],
        _f(4),
    ),
    "searching": Example(
        "`bucketize` of float32[4] with three boundaries",
        "aten::bucketize.Tensor_out",
        [_f(4), _f(3), False, False],
        _i64(4),
    ),
    "shapes": Example("`cat` of float32[2] and float32[3]", "aten::cat.out", [[_f(2), _f(3)], 0], _f(5)),
    "spectra": Example("`_fft_r2c` of float32[2]", "aten::_fft_r2c.out", [_f(2), [0], 0, True], _c64(2)),
    "sorting": Example(
        "`argsort` of float32[2, 3] along the last dimension",
        "aten::argsort.stable_out",
        [_f(2, 3), True, 1, False],
        _i64(2, 3),
    ),
    "statistics": Example(
        "`logsumexp` of float32[2, 3] along the last dimension",
        "aten::logsumexp.out",
        [_f(2, 3), [1], False],
        _f(2),
    ),
    "sums": Example(
        "`sum` of float32[2, 6] along the last dimension",
        "aten::sum.IntList_out",
        [_f(2, 6), [1], False, None],
        _f(2),
    ),
    "windows": Example(
        "`avg_pool1d` of float32[1, 4] with windows of 3, stride 2 and padding 1",
        "aten::avg_pool1d.out",
        [_f(1, 4), [3], [2], [1], False, True],
        _f(1, 2),
    ),
}
"""The example of each file, by the name of the file."""


def with_example(source: str, example: Example) -> str:
    """Returns the source text of a file in which the example is the end of the module docstring."""
    start = source.index('"""') + 3
    end = source.index('"""', start)
    text = source[start:end].partition("\n\nExample: ")[0].rstrip("\n")
    return f"{source[:start]}{text}\n\n{example.docstring()}{source[end:]}"


def main() -> None:
    """Writes the examples into the docstrings."""
    for name, example in EXAMPLES.items():
        path = FOLDER / f"{name}.py"
        path.write_text(with_example(path.read_text(), example))


if __name__ == "__main__":
    main()
