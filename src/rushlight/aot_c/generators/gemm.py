"""Matrix products (GEMM). Each result adds the products in the order of the portable kernels.

Example: `mm` of float32[2, 3] and float32[3, 4].

    static void mm_0(const f32 *restrict a, const f32 *restrict b, f32 *restrict out) {
      for (ptrdiff_t n = 0; n < 1; ++n) {
        for (ptrdiff_t r = 0; r < 2; ++r) {
          for (ptrdiff_t c = 0; c < 4; c += 4) {
            float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            for (ptrdiff_t k = 0; k < 3; ++k) {
              const float x = a[3 * r + k];
              s0 += x * b[4 * k + c];
              s1 += x * b[4 * k + (c + 1)];
              s2 += x * b[4 * k + (c + 2)];
              s3 += x * b[4 * k + (c + 3)];
            }
            out[4 * r + c] = s0;
            out[4 * r + (c + 1)] = s1;
            out[4 * r + (c + 2)] = s2;
            out[4 * r + (c + 3)] = s3;
          }
        }
      }
    }
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import C_TYPES, FLOAT, FLOATING, compute_type
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import ScalarType

# The number of sums that a loop computes together, because they read the same element of the LHS.
SUMS_TOGETHER = 4


class Accumulator:
    """The accumulator of a sum of products: float for 16-bit floats, uint64_t (wraps around) for integers."""

    def __init__(self, k: Kernel, dtype: ScalarType) -> None:
        self.k, self.dtype = k, dtype
        self.is_float = dtype in FLOATING
        self.compute = compute_type(dtype)
        self.type = ("float" if self.compute == FLOAT else "double") if self.is_float else "uint64_t"

    def load(self, element: str) -> str:
        """Converts an element to the type of the accumulator."""
        return self.k.load(element, self.dtype, self.compute) if self.is_float else f"(uint64_t){element}"

    def store(self, value: str) -> str:
        """Converts a sum to an element. `value` is a name or an expression in brackets."""
        if self.is_float:
            return self.k.store(value, self.compute, self.dtype)
        return f"({C_TYPES[self.dtype]}){value}"

    def number(self, number: Number) -> str:
        """Converts a number to the type of the accumulator."""
        text = self.k.constant(number, self.compute)
        return text if self.is_float else f"(uint64_t){text}"


@dataclass
class Matrices:
    """A batch of matrices in memory. The strides of batch, row and column are in elements."""

    tensor: TensorValue
    batch: int
    row: int
    column: int

    @classmethod
    def of(cls, tensor: TensorValue, batched: bool = False) -> Matrices:
        """Describes a tensor of rank 2, or of rank 3 with `batched`."""
        first = 1 if batched else 0
        return cls(
            tensor, tensor.strides[0] if batched else 0, tensor.strides[first], tensor.strides[first + 1]
        )

    @classmethod
    def broadcast(cls, tensor: TensorValue, sizes: list[int]) -> Matrices:
        """Describes a tensor that broadcasts to `sizes`, the shape of a matrix or of a batch of matrices."""
        strides = [0, 0, 0]
        lead = len(sizes) - tensor.rank
        if lead < 0:
            raise Unsupported(f"the bias {tensor.describe()} does not broadcast to the product, {sizes}")
        for i, size in enumerate(tensor.sizes):
            if size not in (1, sizes[lead + i]):
                raise Unsupported(f"the bias {tensor.describe()} does not broadcast to the product, {sizes}")
            strides[3 - len(sizes) + lead + i] = 0 if size == 1 else tensor.strides[i]
        return cls(tensor, *strides)


def _is_one(number: Number | None) -> bool:
    return number is None or (number.value is not None and float(number.value) == 1)


def gemm(
    k: Kernel,
    batches: int,
    rows: int,
    columns: int,
    depth: int,
    a: Matrices,
    b: Matrices,
    out: Matrices,
    bias: Matrices | None = None,
    alpha: Number | None = None,
    beta: Number | None = None,
) -> None:
    """Writes out[n] = beta * bias[n] + alpha * (a[n] @ b[n]) for each matrix n of a batch."""
    if batches * rows * columns == 0:
        return
    sums = Accumulator(k, a.tensor.dtype)
    k.read(a.tensor, "a")
    k.read(b.tensor, "b")
    if bias is not None and beta is not None and beta.value is not None and float(beta.value) == 0:
        bias = None
    if bias is not None:
        k.read(bias.tensor, "bias")
    k.write(out.tensor)
    # `alpha_text` is None if alpha is 1.
    alpha_text = None if _is_one(alpha) or alpha is None else sums.number(k.number_value(alpha, "alpha"))
    beta_text = None if _is_one(beta) or beta is None else sums.number(k.number_value(beta, "beta"))
    if beta is not None and beta.value is None and bias is not None:
        raise Unsupported("beta is computed at run time; only a constant is supported")
    code = k.code

    def finish(sum_name: str, column: str) -> None:
        value = sum_name if alpha_text is None else f"{alpha_text} * {sum_name}"
        if bias is not None:
            place = terms(("n", bias.batch), ("r", bias.row), (column, bias.column))
            term = sums.load(f"bias[{place}]")
            value = f"{value} + {term if beta_text is None else f'{beta_text} * {term}'}"
        place = terms(("n", out.batch), ("r", out.row), (column, out.column))
        stored = sums.store(value if value == sum_name else f"({value})")
        code.add(f"out[{place}] = {stored};")

    def block(width: int) -> None:
        """Writes the sums of `width` columns, starting at column `c`."""
        lanes = range(width)
        code.add(f"{sums.type} {', '.join(f's{lane} = 0' for lane in lanes)};")
        with code.block(f"for (ptrdiff_t k = 0; k < {depth}; ++k)"):
            place = terms(("n", a.batch), ("r", a.row), ("k", a.column))
            code.add(f"const {sums.type} x = {sums.load(f'a[{place}]')};")
            for lane in lanes:
                column = "c" if lane == 0 else f"c + {lane}"
                place = terms(("n", b.batch), ("k", b.row), (column, b.column))
                code.add(f"s{lane} += x * {sums.load(f'b[{place}]')};")
        for lane in lanes:
            finish(f"s{lane}", "c" if lane == 0 else f"c + {lane}")

    with ExitStack() as stack:
        stack.enter_context(code.block(f"for (ptrdiff_t n = 0; n < {batches}; ++n)"))
        stack.enter_context(code.block(f"for (ptrdiff_t r = 0; r < {rows}; ++r)"))
        whole = columns - columns % SUMS_TOGETHER
        if whole:
            with code.block(f"for (ptrdiff_t c = 0; c < {whole}; c += {SUMS_TOGETHER})"):
                block(SUMS_TOGETHER)
        if whole < columns:
            with code.block(f"for (ptrdiff_t c = {whole}; c < {columns}; ++c)"):
                block(1)


def require_same_dtype(k: Kernel, *tensors: TensorValue) -> None:
    """Raises Unsupported if the dtypes differ or are bool."""
    k.require(len({tensor.dtype for tensor in tensors}) == 1, "the dtypes of the operands differ")
    k.require(tensors[0].dtype != ScalarType.BOOL, "products of bool are not supported")


def _mm(k: Kernel) -> None:
    a, b, out = k.tensor(0), k.tensor(1), k.tensor(2)
    require_same_dtype(k, a, b, out)
    k.require_shape(out, [a.sizes[0], b.sizes[1]])
    rows, columns = out.sizes
    gemm(k, 1, rows, columns, a.sizes[1], Matrices.of(a), Matrices.of(b), Matrices.of(out))


def _bmm(k: Kernel) -> None:
    a, b, out = k.tensor(0), k.tensor(1), k.tensor(2)
    require_same_dtype(k, a, b, out)
    k.require_shape(out, [a.sizes[0], a.sizes[1], b.sizes[2]])
    batches, rows, columns = out.sizes
    gemm(
        k,
        batches,
        rows,
        columns,
        a.sizes[2],
        Matrices.of(a, True),
        Matrices.of(b, True),
        Matrices.of(out, True),
    )


def _addmm(batched: bool) -> Generator:
    def generate(k: Kernel) -> None:
        summand, a, b, out = k.tensor(0), k.tensor(1), k.tensor(2), k.tensor(5)
        require_same_dtype(k, a, b, out, summand)
        sizes = list(out.sizes)
        k.require_shape(out, [*a.sizes[:-1], b.sizes[-1]])
        gemm(
            k,
            sizes[0] if batched else 1,
            sizes[-2],
            sizes[-1],
            a.sizes[-1],
            Matrices.of(a, batched),
            Matrices.of(b, batched),
            Matrices.of(out, batched),
            Matrices.broadcast(summand, sizes),
            alpha=k.number(4),
            beta=k.number(3),
        )

    return generate


def _linear(k: Kernel) -> None:
    source, weight, bias, out = k.tensor(0), k.tensor(1), k.optional_tensor(2), k.tensor(3)
    require_same_dtype(k, source, weight, out, *([bias] if bias is not None else []))
    k.require(source.is_row_major and out.is_row_major, "the input or the result is not in row-major order")
    vector = weight.rank == 1
    depth = source.sizes[-1]
    columns = 1 if vector else weight.sizes[0]
    rows = 1
    for size in source.sizes[:-1]:
        rows *= size
    k.require_shape(out, [*source.sizes[:-1], *([] if vector else [columns])])
    gemm(
        k,
        1,
        rows,
        columns,
        depth,
        Matrices(source, 0, depth, 1),
        Matrices(weight, 0, weight.strides[-1], 0 if vector else weight.strides[0]),
        Matrices(out, 0, columns, 1),
        None if bias is None else Matrices.broadcast(bias, [rows, columns]),
    )


GENERATORS: dict[str, Generator] = {
    "aten::mm.out": _mm,
    "aten::bmm.out": _bmm,
    "aten::addmm.out": _addmm(False),
    "aten::baddbmm.out": _addmm(True),
    "aten::linear.out": _linear,
}
