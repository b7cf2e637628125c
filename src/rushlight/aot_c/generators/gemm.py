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
    """A batch of matrices in memory: element [n, r, c] is at n * batch + r * row + c * column.

    Attributes:
        tensor: the tensor that contains the matrices.
        batch: the stride from a matrix to the next one, in elements; 0 if all products use the same matrix.
        row: the stride from a row to the next one, in elements.
        column: the stride from a column to the next one, in elements.
    """

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


@dataclass(frozen=True)
class Product:
    """A batch of matrix products: out[n] = beta * bias[n] + alpha * (a[n] @ b[n]) for each n < batches.

    For example, `addmm(bias, a, b, alpha=2)` of a bias float32[4], float32[2, 3] and float32[3, 4] has 1
    batch, 2 rows, 4 columns and depth 3.

    Attributes:
        batches: the number of products.
        rows: the rows of `a` and `out`.
        columns: the columns of `b` and `out`.
        depth: the columns of `a`, which are the rows of `b`: the number of terms in each sum.
        a: the left operands, [batches, rows, depth].
        b: the right operands, [batches, depth, columns].
        out: the results, [batches, rows, columns].
        bias: the summands, broadcast to the shape of `out`; None for no summand.
        alpha: the factor of the products; None for 1.
        beta: the factor of the bias; None for 1.
    """

    batches: int
    rows: int
    columns: int
    depth: int
    a: Matrices
    b: Matrices
    out: Matrices
    bias: Matrices | None = None
    alpha: Number | None = None
    beta: Number | None = None


def _is(number: Number | None, value: float) -> bool:
    """Returns whether a number is known ahead of time and has this value."""
    return number is not None and number.value is not None and float(number.value) == value


def write_product(k: Kernel, product: Product) -> None:
    """Writes the loops that compute a batch of matrix products.

    Args:
        k: the kernel call, which gets the code.
        product: the operands. The loops over `n`, `r` and `c` run over its batches, rows and columns.

    Raises:
        Unsupported: `beta` is computed at run time.
    """
    if product.batches * product.rows * product.columns == 0:
        return
    writer = _ProductWriter(k, product)
    columns = product.columns
    whole = columns - columns % SUMS_TOGETHER  # the columns that whole groups of sums compute
    with ExitStack() as stack:
        stack.enter_context(k.code.block(f"for (ptrdiff_t n = 0; n < {product.batches}; ++n)"))
        stack.enter_context(k.code.block(f"for (ptrdiff_t r = 0; r < {product.rows}; ++r)"))
        if whole:
            with k.code.block(f"for (ptrdiff_t c = 0; c < {whole}; c += {SUMS_TOGETHER})"):
                writer.write_sums(SUMS_TOGETHER)
        if whole < columns:
            with k.code.block(f"for (ptrdiff_t c = {whole}; c < {columns}; ++c)"):
                writer.write_sums(1)


class _ProductWriter:
    """Writes the body of the loops over batches (`n`), rows (`r`) and columns (`c`)."""

    def __init__(self, k: Kernel, product: Product) -> None:
        self._code, self._product = k.code, product
        self._sums = sums = Accumulator(k, product.a.tensor.dtype)
        k.read(product.a.tensor, "a")
        k.read(product.b.tensor, "b")
        # A beta of 0 ignores the bias, even if the bias contains NaN.
        self._bias = None if _is(product.beta, 0) else product.bias
        if self._bias is not None:
            k.read(self._bias.tensor, "bias")
        k.write(product.out.tensor)
        alpha, beta = product.alpha, product.beta
        # The factors as C expressions; None for 1.
        self._alpha = None if alpha is None or _is(alpha, 1) else sums.number(k.number_value(alpha, "alpha"))
        self._beta = None if beta is None or _is(beta, 1) else sums.number(k.number_value(beta, "beta"))
        if beta is not None and beta.value is None and self._bias is not None:
            raise Unsupported("beta is computed at run time; only a constant is supported")

    def write_sums(self, count: int) -> None:
        """Writes the sums s0, s1, ... of `count` columns, starting at column `c`."""
        a, b, code, sums = self._product.a, self._product.b, self._code, self._sums
        columns = ["c" if lane == 0 else f"c + {lane}" for lane in range(count)]
        code.add(f"{sums.type} {', '.join(f's{lane} = 0' for lane in range(count))};")
        with code.block(f"for (ptrdiff_t k = 0; k < {self._product.depth}; ++k)"):
            place = terms(("n", a.batch), ("r", a.row), ("k", a.column))
            code.add(f"const {sums.type} x = {sums.load(f'a[{place}]')};")
            for lane, column in enumerate(columns):
                place = terms(("n", b.batch), ("k", b.row), (column, b.column))
                code.add(f"s{lane} += x * {sums.load(f'b[{place}]')};")
        for lane, column in enumerate(columns):
            self._write_result(f"s{lane}", column)

    def _write_result(self, sum_name: str, column: str) -> None:
        """Writes the statement that scales a sum, adds the bias and stores the result."""
        out, bias, sums = self._product.out, self._bias, self._sums
        value = sum_name if self._alpha is None else f"{self._alpha} * {sum_name}"
        if bias is not None:
            place = terms(("n", bias.batch), ("r", bias.row), (column, bias.column))
            term = sums.load(f"bias[{place}]")
            value = f"{value} + {term if self._beta is None else f'{self._beta} * {term}'}"
        place = terms(("n", out.batch), ("r", out.row), (column, out.column))
        stored = sums.store(value if value == sum_name else f"({value})")
        self._code.add(f"out[{place}] = {stored};")


def require_same_dtype(k: Kernel, *tensors: TensorValue) -> None:
    """Raises Unsupported if the dtypes differ or are bool."""
    k.require(len({tensor.dtype for tensor in tensors}) == 1, "the dtypes of the operands differ")
    k.require(tensors[0].dtype != ScalarType.BOOL, "products of bool are not supported")


def _mm(k: Kernel) -> None:
    a, b, out = k.tensor(0), k.tensor(1), k.tensor(2)
    require_same_dtype(k, a, b, out)
    k.require_rank(2, a, b)
    k.require_shape(out, [a.sizes[0], b.sizes[1]])
    rows, columns = out.sizes
    write_product(
        k,
        Product(
            batches=1,
            rows=rows,
            columns=columns,
            depth=a.sizes[1],
            a=Matrices.of(a),
            b=Matrices.of(b),
            out=Matrices.of(out),
        ),
    )


def _bmm(k: Kernel) -> None:
    a, b, out = k.tensor(0), k.tensor(1), k.tensor(2)
    require_same_dtype(k, a, b, out)
    k.require_rank(3, a, b)
    k.require_shape(out, [a.sizes[0], a.sizes[1], b.sizes[2]])
    batches, rows, columns = out.sizes
    write_product(
        k,
        Product(
            batches=batches,
            rows=rows,
            columns=columns,
            depth=a.sizes[2],
            a=Matrices.of(a, batched=True),
            b=Matrices.of(b, batched=True),
            out=Matrices.of(out, batched=True),
        ),
    )


def _addmm(batched: bool) -> Generator:
    def generate(k: Kernel) -> None:
        summand, a, b, out = k.tensor(0), k.tensor(1), k.tensor(2), k.tensor(5)
        require_same_dtype(k, a, b, out, summand)
        k.require_rank(3 if batched else 2, a, b)
        sizes = list(out.sizes)
        k.require_shape(out, [*a.sizes[:-1], b.sizes[-1]])
        write_product(
            k,
            Product(
                batches=sizes[0] if batched else 1,
                rows=sizes[-2],
                columns=sizes[-1],
                depth=a.sizes[-1],
                a=Matrices.of(a, batched),
                b=Matrices.of(b, batched),
                out=Matrices.of(out, batched),
                bias=Matrices.broadcast(summand, sizes),
                alpha=k.number(4),
                beta=k.number(3),
            ),
        )

    return generate


def _linear(k: Kernel) -> None:
    source, weight, bias, out = k.tensor(0), k.tensor(1), k.optional_tensor(2), k.tensor(3)
    require_same_dtype(k, source, weight, out, *([bias] if bias is not None else []))
    k.require(source.is_row_major and out.is_row_major, "the input or the result is not in row-major order")
    vector = weight.rank == 1
    k.require(source.rank > 0, f"{source.describe()} has no dimensions")
    k.require(vector or weight.rank == 2, f"the weight {weight.describe()} is neither a matrix nor a vector")
    depth = source.sizes[-1]
    columns = 1 if vector else weight.sizes[0]
    rows = 1
    for size in source.sizes[:-1]:
        rows *= size
    k.require_shape(out, [*source.sizes[:-1], *([] if vector else [columns])])
    # The weight is [columns, depth], so that its strides of row and column are exchanged.
    write_product(
        k,
        Product(
            batches=1,
            rows=rows,
            columns=columns,
            depth=depth,
            a=Matrices(source, batch=0, row=depth, column=1),
            b=Matrices(weight, batch=0, row=weight.strides[-1], column=0 if vector else weight.strides[0]),
            out=Matrices(out, batch=0, row=columns, column=1),
            bias=None if bias is None else Matrices.broadcast(bias, [rows, columns]),
        ),
    )


GENERATORS: dict[str, Generator] = {
    "aten::mm.out": _mm,
    "aten::bmm.out": _bmm,
    "aten::addmm.out": _addmm(False),
    "aten::baddbmm.out": _addmm(True),
    "aten::linear.out": _linear,
}
