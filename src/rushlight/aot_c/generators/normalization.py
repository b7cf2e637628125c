"""Softmax, and layer, group and batch normalization.

Example: `_softmax` of float32[2, 3] along the last dimension.

    static void softmax_0(const f32 *restrict in, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        float most = -INFINITY;
        double sum = 0;
        for (ptrdiff_t e = 0; e < 3; ++e) {
          const float x = in[3 * i + e];
          most = x > most ? x : most;
        }
        {
          double s0 = 0;
          ptrdiff_t e = 0;
          for (; e < 3; ++e) s0 += (double)(out[3 * i + e] = expf(in[3 * i + e] - most));
          sum += s0;
        }
        const float scale = (float)(1 / sum);
        for (ptrdiff_t e = 0; e < 3; ++e) {
          const float r = out[3 * i + e] * scale;
          out[3 * i + e] = r;
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import DOUBLE, FLOAT, LONG, c_compute, compute_type
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.reductions import widened
from rushlight.aot_c.generators.scans import rows_of
from rushlight.aot_c.generators.statistics import add_moments
from rushlight.aot_c.generators.sums import add_up
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue

_BLOCK = 1024  # the elements of a row that the runtime adds to one partial sum


class _Softmax:
    """Writes the softmax, or its logarithm, of each row of a tensor."""

    def __init__(self, k: Kernel, source: TensorValue, out: TensorValue, logarithm: bool) -> None:
        self.k, self.source, self.out, self.logarithm = k, source, out, logarithm
        self.compute = compute_type(source.dtype)
        k.require(self.compute != LONG, "softmax of integers is not supported")
        k.require_shape(out, source.sizes)
        # A result of the compute type stores the exponentials between the two passes over a row.
        self.holds = not logarithm and out.dtype == self.compute

    def write(self, dim: int) -> None:
        """Writes the loops over the rows along `dim` and over their elements."""
        k, code = self.k, self.k.code
        rows, self.length, self.steps = rows_of([self.source, self.out], dim)
        if rows.numel * self.length == 0:
            return
        self.names = k.read(self.source, "in"), k.write(self.out)
        k.in_place = True
        k.headers.add("math.h")
        c = c_compute(self.compute)
        with rows.emit(code) as self.starts:
            code.add(f"{c} most = {'-INFINITY' if self.compute == FLOAT else '-(double)INFINITY'};")
            code.add("double sum = 0;")
            with code.block(f"for (ptrdiff_t e = 0; e < {self.length}; ++e)"):
                code.add(f"const {c} x = {self.element('e')};")
                code.add("most = x > most ? x : most;")
            self.add_exponentials()
            if self.logarithm:
                code.add(f"const {c} shift = ({c})log(sum);")
            else:
                code.add(f"const {c} scale = ({c})(1 / sum);")
            with code.block(f"for (ptrdiff_t e = 0; e < {self.length}; ++e)"):
                code.add(f"const {c} r = {self.result('e')};")
                code.add(f"{self.place('e')} = {k.store('r', self.compute, self.out.dtype)};")

    def add_exponentials(self) -> None:
        """Writes the addition of all exponentials of a row to `sum`, in blocks."""
        code, length = self.k.code, self.length
        if length <= _BLOCK:
            with code.block(""):
                add_up(code, "sum", length, self.term, "double")
            return
        with code.block(f"for (ptrdiff_t first = 0; first < {length}; first += {_BLOCK})"):
            code.add(f"const ptrdiff_t count = {length} - first < {_BLOCK} ? {length} - first : {_BLOCK};")
            add_up(code, "sum", "count", lambda i: self.term(f"first + {i}"), "double")

    def element(self, index: str) -> str:
        """Returns an element of the row."""
        place = f"{self.names[0]}[{plus(self.starts[0], terms((index, self.steps[0])))}]"
        return self.k.load(place, self.source.dtype, self.compute)

    def place(self, index: str) -> str:
        """Returns the place of a result of the row."""
        return f"{self.names[1]}[{plus(self.starts[1], terms((index, self.steps[1])))}]"

    def exponential(self, index: str) -> str:
        """Returns the exponential of an element minus the maximum."""
        return self.k.math("exp", self.compute, f"{self.element(index)} - most")

    def term(self, index: str) -> str:
        """Returns a term of `sum`; the expression may store it, too."""
        power = self.exponential(index)
        return f"(double)({self.place(index)} = {power})" if self.holds else f"(double){power}"

    def result(self, index: str) -> str:
        """Returns a result in the compute type."""
        if self.logarithm:
            return f"{self.element(index)} - most - shift"
        return f"{self.place(index) if self.holds else self.exponential(index)} * scale"


def _softmax(logarithm: bool) -> Generator:
    return lambda k: _Softmax(k, k.tensor(0), k.tensor(3), logarithm).write(k.integer(1))


class Normalization:
    """Writes out = (in - mean) * rstd * weight + bias, where groups of elements share mean and rstd."""

    def __init__(
        self,
        k: Kernel,
        source: TensorValue,
        out: TensorValue,
        weight: TensorValue | None,
        bias: TensorValue | None,
    ) -> None:
        self.k, self.source, self.out, self.weight, self.bias = k, source, out, weight, bias
        self.groups, self.members = Nest(6), Nest(4)
        self.compute = compute_type(source.dtype)
        k.require(self.compute != LONG, "normalization of integers is not supported")
        k.require_shape(out, source.sizes)

    def moments(self, base: str) -> None:
        """Writes the computation of `total`, `mean` and `squares` of a group, see `add_moments`."""
        k, code, nest = self.k, self.k.code, self.members
        count, stride, limit = nest.inner_size, nest.inner_stride(0), 128
        code.add("double total = 0, mean = 0, squares = 0;")

        def element(start: str, i: str) -> str:
            text = k.load(f"in[{plus(start, terms((i, stride)))}]", self.source.dtype, self.compute)
            return widened(text, "double")

        with nest.outer().emit(code, "m") as at:
            start = plus(base, at[0])
            if count <= limit:
                add_moments(k, count, lambda i: element(start, i))
            else:
                with code.block(f"for (ptrdiff_t first = 0; first < {count}; first += {limit})"):
                    code.add(
                        f"const ptrdiff_t count = {count} - first < {limit} ? {count} - first : {limit};"
                    )
                    begin = plus(start, terms(("first", stride)))
                    add_moments(k, "count", lambda i: element(begin, i))

    def run(self, statistics: Callable[[list[str]], tuple[str, str]]) -> None:
        """Writes the loops.

        Args:
            statistics: adds the lines that compute mean and rstd of a group, and returns their names. It
                receives the index of the group's first element in in, out, weight, bias, mean and rstd.
        """
        k, code = self.k, self.k.code
        self.members.collapse()
        if self.groups.numel * self.members.numel == 0:
            return
        k.read(self.source, "in")
        if self.weight is not None:
            k.read(self.weight, "weight")
        if self.bias is not None:
            k.read(self.bias, "bias")
        k.write(self.out)
        k.headers.add("math.h")
        c = c_compute(self.compute)
        with self.groups.emit(code) as group:
            mean, rstd = statistics(group)
            code.add(f"const {c} center = ({c}){mean};")
            code.add(f"const {c} scale = ({c}){rstd};")
            with self.members.emit(code, "m") as at:
                place = [plus(g, a) for g, a in zip(group, at, strict=False)]
                value = f"({k.load(f'in[{place[0]}]', self.source.dtype, self.compute)} - center) * scale"
                for tensor, name, where, operator in (
                    (self.weight, "weight", place[2], "*"),
                    (self.bias, "bias", place[3], "+"),
                ):
                    if tensor is not None:
                        value += f" {operator} {k.load(f'{name}[{where}]', tensor.dtype, self.compute)}"
                if k.store("r", self.compute, self.out.dtype) != "r":
                    code.add(f"const {c} r = {value};")
                    value = "r"
                code.add(f"out[{place[1]}] = {k.store(value, self.compute, self.out.dtype)};")

    def by_moments(self, eps: float, mean: TensorValue, rstd: TensorValue) -> None:
        """Normalizes each group with its own mean and biased variance."""
        k, code = self.k, self.k.code
        used = [(tensor, name) for tensor, name in ((mean, "means"), (rstd, "rstds")) if k.is_used(tensor)]
        if self.groups.numel == 0:
            return
        for tensor, name in used:
            k.write(tensor, name)
        if self.members.numel == 0:
            self._moments_of_no_elements(used)
            return

        def statistics(group: list[str]) -> tuple[str, str]:
            self.moments(group[0])
            code.add(f"const double rstd = 1 / sqrt(squares / total + {k.constant(eps, DOUBLE)});")
            for tensor, name in used:
                where, value = (group[4], "mean") if name == "means" else (group[5], "rstd")
                code.add(f"{name}[{where}] = {k.store(value, DOUBLE, tensor.dtype)};")
            return "mean", "rstd"

        self.run(statistics)

    def _moments_of_no_elements(self, used: list[tuple[TensorValue, str]]) -> None:
        """Writes the mean 0 and the undefined rstd of groups without elements."""
        k = self.k
        if not used:
            return
        k.headers.add("math.h")
        with self.groups.emit(k.code) as group:
            for tensor, name in used:
                where, value = (group[4], "0.0") if name == "means" else (group[5], "(double)NAN")
                k.code.add(f"{name}[{where}] = {k.store(value, DOUBLE, tensor.dtype)};")


def _strides(tensor: TensorValue | None, axis: int) -> int:
    return 0 if tensor is None else tensor.strides[axis]


def _layer_norm(k: Kernel) -> None:
    source, normalized = k.tensor(0), len(k.ints(1))
    weight, bias = k.optional_tensor(2), k.optional_tensor(3)
    out, mean, rstd = k.tensor(5), k.tensor(6), k.tensor(7)
    lead = source.rank - normalized
    k.require(
        lead >= 0 and list(source.sizes[lead:]) == k.ints(1), "normalized_shape does not match the input"
    )
    k.require_rank(source.rank, out, mean, rstd)
    k.require_rank(normalized, *(tensor for tensor in (weight, bias) if tensor is not None))
    norm = Normalization(k, source, out, weight, bias)
    for d, size in enumerate(source.sizes):
        if d < lead:
            norm.groups.push(size, source.strides[d], out.strides[d], 0, 0, mean.strides[d], rstd.strides[d])
        else:
            norm.members.push(
                size, source.strides[d], out.strides[d], _strides(weight, d - lead), _strides(bias, d - lead)
            )
    norm.by_moments(k.real(4), mean, rstd)


def _group_norm(k: Kernel) -> None:
    source, weight, bias = k.tensor(0), k.optional_tensor(1), k.optional_tensor(2)
    n, c, group, eps = k.integer(3), k.integer(4), k.integer(6), k.real(7)
    out, mean, rstd = k.tensor(8), k.tensor(9), k.tensor(10)
    k.require(
        source.rank >= 2 and source.sizes[0] == n and source.sizes[1] == c,
        "N and C differ from the sizes of the input",
    )
    k.require(group > 0 and c % group == 0, "the channels cannot be divided into the groups")
    k.require_rank(source.rank, out)
    k.require_rank(2, mean, rstd)
    k.require_rank(1, *(tensor for tensor in (weight, bias) if tensor is not None))
    each = c // group
    norm = Normalization(k, source, out, weight, bias)
    norm.groups.push(n, source.strides[0], out.strides[0], 0, 0, mean.strides[0], rstd.strides[0])
    norm.groups.push(
        group,
        each * source.strides[1],
        each * out.strides[1],
        each,
        each,
        mean.strides[1],
        rstd.strides[1],
    )
    norm.members.push(each, source.strides[1], out.strides[1], 1, 1)
    for d in range(2, source.rank):
        norm.members.push(source.sizes[d], source.strides[d], out.strides[d], 0, 0)
    norm.by_moments(eps, mean, rstd)


def _batch_norm(k: Kernel, out: TensorValue) -> Normalization:
    source = k.tensor(0)
    k.require(source.rank >= 2, "the input has fewer than 2 dims")
    norm = Normalization(k, source, out, k.optional_tensor(1), k.optional_tensor(2))
    norm.groups.push(source.sizes[1], source.strides[1], out.strides[1], 1, 1, 1, 1)
    norm.members.push(source.sizes[0], source.strides[0], out.strides[0], 0, 0)
    for d in range(2, source.rank):
        norm.members.push(source.sizes[d], source.strides[d], out.strides[d], 0, 0)
    return norm


def _batch_norm_by_running(k: Kernel, eps: float, out: TensorValue) -> None:
    norm = _batch_norm(k, out)
    mean, variance = k.tensor(3), k.tensor(4)
    k.in_place = True
    k.read(mean, "means")
    k.read(variance, "variances")

    def statistics(group: list[str]) -> tuple[str, str]:
        k.code.add(f"const double mean = {k.load(f'means[{group[4]}]', mean.dtype, DOUBLE)};")
        loaded = k.load(f"variances[{group[5]}]", variance.dtype, DOUBLE)
        k.code.add(f"const double rstd = 1 / sqrt({loaded} + {k.constant(eps, DOUBLE)});")
        return "mean", "rstd"

    norm.run(statistics)


def _batch_norm_no_training(k: Kernel) -> None:
    _batch_norm_by_running(k, k.real(6), k.tensor(7))


def _batch_norm_no_stats(k: Kernel) -> None:
    _batch_norm(k, k.tensor(6)).by_moments(k.real(5), k.tensor(7), k.tensor(8))


def _batch_norm_legit(k: Kernel) -> None:
    if k.flag(5):
        raise Unsupported("batch normalization in training mode is not supported")
    _batch_norm_by_running(k, k.real(7), k.tensor(8))


GENERATORS: dict[str, Generator] = {
    "aten::_softmax.out": _softmax(False),
    "aten::_log_softmax.out": _softmax(True),
    "aten::native_layer_norm.out": _layer_norm,
    "aten::native_group_norm.out": _group_norm,
    "aten::_native_batch_norm_legit_no_training.out": _batch_norm_no_training,
    "aten::_native_batch_norm_legit.no_stats_out": _batch_norm_no_stats,
    "aten::_native_batch_norm_legit.out": _batch_norm_legit,
}
