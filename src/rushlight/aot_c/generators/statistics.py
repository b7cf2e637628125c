"""Logsumexp, variance, standard deviation and histograms.

Example: `logsumexp` of float32[2, 3] along the last dimension.

    static void logsumexp_0(const f32 *restrict in, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        double most = -(double)INFINITY, sum = 0;
        {
          const double before = most;
          for (ptrdiff_t e = 0; e < 3; ++e) {
            const double x = (double)in[3 * i + e];
            if (x > most || (x != x && most == most)) most = x;
          }
          if (isfinite(most)) {
            sum *= exp(before - most);
            double s0 = 0;
            ptrdiff_t e = 0;
            for (; e < 3; ++e) s0 += exp((double)in[3 * i + e] - most);
            sum += s0;
          }
        }
        if (isfinite(most)) most = most + log(sum);
        out[i] = (float)most;
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight.aot_c.dtypes import DOUBLE, FLOAT, LONG, compute_type, float_result
from rushlight.aot_c.generators.reductions import Reduction, axes_of, widened
from rushlight.aot_c.generators.sums import add_up
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.values import TensorValue


def _logsumexp(k: Kernel) -> None:
    source = k.tensor(0)
    compute = compute_type(float_result(source.dtype))
    run = Reduction(k, source, axes_of(k, k.ints(1), source.rank), k.flag(2), [k.tensor(3)], compute)
    if run.is_empty:
        return
    k.headers.add("math.h")
    code = k.code
    with run.results():
        code.add("double most = -(double)INFINITY, sum = 0;")
        if run.reduced.numel:
            with run.blocks() as block:
                code.add("const double before = most;")
                with code.block(f"for (ptrdiff_t e = 0; e < {block.count}; ++e)"):
                    code.add(f"const double x = {widened(block.at('e'), 'double')};")
                    code.add("if (x > most || (x != x && most == most)) most = x;")
                with code.block("if (isfinite(most))"):
                    code.add("sum *= exp(before - most);")
                    add_up(
                        code,
                        "sum",
                        block.count,
                        lambda i: f"exp({widened(block.at(i), 'double')} - most)",
                        "double",
                    )
        code.add("if (isfinite(most)) most = most + log(sum);")
        run.put(0, "most", DOUBLE)


def add_moments(k: Kernel, count: str | int, at: Callable[[str], str]) -> None:
    """Adds a block of elements to the C variables `total` (the count), `mean` and `squares`.

    `squares` is the sum of the squared differences from the mean. Source: Chan, Golub and LeVeque, 1979.

    Args:
        k: the kernel.
        count: the number of elements.
        at: maps the position of an element to its C expression of type double.
    """
    code = k.code
    n = k.constant(float(count), DOUBLE) if isinstance(count, int) else f"(double){count}"
    with code.block(""):
        add_up(code, "const double part_sum", count, at, "double", "a")
        code.add(f"const double part_mean = part_sum / {n};")

        def squared(i: str) -> str:
            return f"({at(i)} - part_mean) * ({at(i)} - part_mean)"

        add_up(code, "const double part_squares", count, squared, "double", "b")
        code.add(f"const double both = total + {n};")
        code.add("const double shift = part_mean - mean;")
        code.add(f"squares += part_squares + shift * shift * (total * {n} / both);")
        code.add(f"mean += shift * ({n} / both);")
        code.add("total = both;")


def _deviation(
    k: Kernel,
    axes: set[int],
    keepdim: bool,
    correction: float,
    out: TensorValue,
    mean: TensorValue | None,
    root: bool,
) -> None:
    source = k.tensor(0)
    compute = compute_type(source.dtype)
    k.require(compute != LONG, "the variance of integers is not supported")
    outs = [out] if mean is None else [out, mean]
    run = Reduction(k, source, axes, keepdim, outs, compute)
    if run.is_empty:
        return
    k.headers.add("math.h")
    code = k.code
    with run.results():
        code.add("double total = 0, mean = 0, squares = 0;")
        if not run.reduced.numel and mean is None:
            code.add("(void)mean;")
        if run.reduced.numel:
            with run.blocks() as block:
                add_moments(k, block.count, lambda i: widened(block.at(i), "double"))
        code.add(f"const double divisor = total - {k.constant(correction, DOUBLE)};")
        code.add("double result = squares / (divisor > 0 ? divisor : 0.0);")
        if root:
            code.add("result = sqrt(result);")
        run.put(0, "result", DOUBLE)
        if mean is not None:
            code.add("if (total <= 0) mean = (double)NAN;")
            run.put(1, "mean", DOUBLE)


def _correction(k: Kernel, position: int) -> float:
    number = k.optional_float(position)
    return 1.0 if number is None else number


def _deviation_of(root: bool, form: str) -> Generator:
    def generate(k: Kernel) -> None:
        source = k.tensor(0)
        axes = axes_of(k, k.optional_ints(1), source.rank)
        if form == "unbiased":
            _deviation(k, axes, k.flag(3), 1.0 if k.flag(2) else 0.0, k.tensor(4), None, root)
        elif form == "correction":
            _deviation(k, axes, k.flag(3), _correction(k, 2), k.tensor(4), None, root)
        else:
            _deviation(k, axes, k.flag(3), _correction(k, 2), k.tensor(4), k.tensor(5), root)

    return generate


def _histogram(k: Kernel) -> None:
    source, bins, out = k.tensor(0), k.integer(1), k.tensor(4)
    least, most = (k.number_value(k.number(i), name) for i, name in ((2, "least"), (3, "most")))
    k.require(bins > 0, "the number of bins is not positive")
    k.require(source.dtype == out.dtype and source.dtype in (FLOAT, DOUBLE), "the dtype is not supported")
    k.require_shape(out, [bins])
    k.headers.add("math.h")
    code, n = k.code, source.numel
    if n:
        k.read(source, "in")
    k.write(out)
    code.add(f"double low = {k.constant(least, DOUBLE)}, high = {k.constant(most, DOUBLE)};")
    code.add(f"for (ptrdiff_t e = 0; e < {bins}; ++e) out[e] = 0;")
    if n:
        with code.block("if (low == high)"):
            code.add("low = high = in[0];")
            with code.block(f"for (ptrdiff_t e = 1; e < {n}; ++e)"):
                code.add("low = in[e] < low ? in[e] : low;")
                code.add("high = in[e] > high ? in[e] : high;")
    with code.block("if (low == high)"):
        code.add("low -= 1;")
        code.add("high += 1;")
    k.fail_if("!(low < high && isfinite(high - low))")
    if not n:
        return
    with code.block(f"for (ptrdiff_t e = 0; e < {n}; ++e)"):
        code.add("const double x = in[e];")
        with code.block("if (x >= low && x <= high)"):
            code.add(f"const ptrdiff_t bin = (ptrdiff_t)((x - low) / (high - low) * {bins});")
            code.add(f"out[bin < {bins} ? bin : {bins - 1}] += 1;")


GENERATORS: dict[str, Generator] = {
    "aten::logsumexp.out": _logsumexp,
    "aten::var.out": _deviation_of(False, "unbiased"),
    "aten::var.correction_out": _deviation_of(False, "correction"),
    "aten::var_mean.correction_out": _deviation_of(False, "both"),
    "aten::std.out": _deviation_of(True, "unbiased"),
    "aten::std.correction_out": _deviation_of(True, "correction"),
    "aten::std_mean.correction_out": _deviation_of(True, "both"),
    "aten::histc.out": _histogram,
}
