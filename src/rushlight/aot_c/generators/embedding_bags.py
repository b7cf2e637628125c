"""Embedding bags: sums, means or maxima of the rows of a table that groups of indices select.

Example: `_embedding_bag` of sums of rows of a table float32[5, 3]; four indices form two bags.

    static int embedding_bag_0(f32 *restrict out, const f32 *restrict weight, const i64 *restrict indices,
                               const i64 *restrict offsets) {
      for (ptrdiff_t e = 0; e < 4; ++e) {
        if (indices[e] < 0 || indices[e] >= 5) return 1;
      }
      for (ptrdiff_t e = 0; e < 2; ++e) {
        if (offsets[e] < 0 || offsets[e] >= 5) return 1;
      }
      for (ptrdiff_t bag = 0; bag < 2; ++bag) {
        const ptrdiff_t first = (ptrdiff_t)offsets[bag];
        const ptrdiff_t last = bag + 1 < 2 ? (ptrdiff_t)offsets[bag + 1] : 4;
        if (first > last) return 1;
        for (ptrdiff_t c = 0; c < 3; ++c) {
          float sum = 0;
          for (ptrdiff_t e = first; e < last; ++e) sum += weight[3 * (indices[e]) + c];
          out[3 * bag + c] = sum;
        }
      }
      return 0;
    }
"""

from __future__ import annotations

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import FLOATING, LONG, c_compute, compute_type
from rushlight.aot_c.generators.indexing import require_index
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.values import TensorValue

_SUM, _MEAN, _MAX = 0, 1, 2


class _Bags:
    """The arguments of the operator. The C variables `first` and `last` are the range of a bag's indices."""

    def __init__(self, k: Kernel) -> None:
        self.k = k
        self.weight, self.indices, self.offsets = (k.tensor(i) for i in range(3))
        self.mode, self.scales = k.integer(4), k.optional_tensor(6)
        self.padding = k.integer(8)
        self.out, self.bag_of, self.size, self.most_at = (k.tensor(i) for i in range(9, 13))
        includes_last = k.flag(7)
        weight, scales = self.weight, self.scales
        k.require_rank(2, weight)
        k.require_rank(1, self.indices, self.offsets)
        k.require(weight.dtype in FLOATING, "the weights are not floating-point")
        for index in (self.indices, self.offsets, self.bag_of, self.size, self.most_at):
            require_index(k, index)
        k.require(self.mode in (_SUM, _MEAN, _MAX), f"the mode {self.mode} is not supported")
        k.require(
            scales is None
            or (self.mode == _SUM and scales.sizes == self.indices.sizes and scales.dtype == weight.dtype),
            "the weights of the indices do not match the indices or the mode",
        )
        k.require(weight.dtype == self.out.dtype, "the dtypes differ")
        self.numel, self.rows, self.width = self.indices.numel, weight.sizes[0], weight.sizes[1]
        self.count = self.offsets.numel - includes_last
        k.require(self.count >= 0, "there are no offsets")
        k.require_shape(self.out, [self.count, self.width])
        if self.mode == _MAX:
            k.require_shape(self.most_at, [self.count, self.width])

    def declare(self) -> None:
        """Declares the tensors, and checks the indices and offsets."""
        k = self.k
        k.write(self.out)
        for tensor, name in (
            (self.weight, "weight"),
            (self.indices, "indices"),
            (self.offsets, "offsets"),
            (self.scales, "scales"),
        ):
            if tensor is not None and tensor.numel:
                k.read(tensor, name)
        for name, count, end in (
            ("indices", self.numel, self.rows),
            ("offsets", self.offsets.numel, self.numel + 1),
        ):
            if count:
                with k.code.block(f"for (ptrdiff_t e = 0; e < {count}; ++e)"):
                    k.fail_if(f"{name}[e] < 0 || {name}[e] >= {end}")

    def is_row(self) -> str:
        """Writes the beginning of a statement that runs only if the index e is not padding."""
        return f"if (indices[e] != {self.padding}) " if 0 <= self.padding < self.rows else ""

    def declare_bag(self) -> None:
        """Declares the range of the indices of the bag, and the number `rows` of its rows if it is needed."""
        k = self.k
        k.code.add("const ptrdiff_t first = (ptrdiff_t)offsets[bag];")
        last = "(ptrdiff_t)offsets[bag + 1]"
        if self.offsets.numel == self.count:
            last = f"bag + 1 < {self.count} ? {last} : {self.numel}"
        k.code.add(f"const ptrdiff_t last = {last};")
        k.fail_if("first > last")
        if self.mode == _MEAN or self._is_written(self.size):
            if not self.is_row():
                k.code.add("const ptrdiff_t rows = last - first;")
                return
            k.code.add("ptrdiff_t rows = 0;")
            k.code.add(f"for (ptrdiff_t e = first; e < last; ++e) rows += indices[e] != {self.padding};")

    def _is_written(self, tensor: TensorValue) -> bool:
        return tensor.numel > 0 and self.k.is_used(tensor)

    def fill_others(self) -> None:
        """Sets the elements of other results that no bag writes."""
        for tensor, name, written in (
            (self.size, "bag_size", self.count),
            (self.most_at, "max_indices", self.most_at.numel if self.mode == _MAX else 0),
        ):
            if self._is_written(tensor):
                self.k.write(tensor, name)
                if written < tensor.numel:
                    self.k.code.add(f"for (ptrdiff_t e = 0; e < {tensor.numel}; ++e) {name}[e] = 0;")

    def put_others(self) -> None:
        """Writes the size of the bag, and the bag of its indices."""
        code = self.k.code
        if self._is_written(self.size):
            limit = f"if (bag < {self.size.numel}) " if self.size.numel < self.count else ""
            code.add(f"{limit}bag_size[bag] = {_position('rows', self.size)};")
        if self._is_written(self.bag_of) and self.bag_of.numel == self.numel:
            self.k.require_rank(1, self.bag_of)
            self.k.write(self.bag_of, "offset2bag")
            value = _position("bag", self.bag_of)
            code.add(f"for (ptrdiff_t e = first; e < last; ++e) offset2bag[e] = {value};")

    def _element(self) -> str:
        place = terms(("indices[e]", self.weight.strides[0]), ("c", self.weight.strides[1]))
        return self.k.load(f"weight[{place}]", self.weight.dtype, compute_type(self.weight.dtype))

    def add_rows(self) -> None:
        """Declares `sum`, the sum of a column of the bag's rows."""
        k, compute = self.k, compute_type(self.weight.dtype)
        value = self._element()
        if self.scales is not None:
            value += f" * {k.load('scales[e]', self.scales.dtype, compute)}"
        k.code.add(f"{c_compute(compute)} sum = 0;")
        if self.numel:
            k.code.add(f"for (ptrdiff_t e = first; e < last; ++e) {self.is_row()}sum += {value};")
        if self.mode == _MEAN:
            k.code.add(f"sum = sum / ({c_compute(compute)})(rows > 0 ? rows : 1);")

    def find_most(self) -> None:
        """Declares `sum`, the maximum of a column of the bag's rows, and stores the row of this element."""
        k, c = self.k, c_compute(compute_type(self.weight.dtype))
        k.code.add(f"{c} sum = 0;")
        k.code.add("ptrdiff_t row = -1;")
        if self.numel:
            with k.code.block("for (ptrdiff_t e = first; e < last; ++e)"):
                k.code.add(f"const {c} x = {self._element()};")
                padding = f"indices[e] == {self.padding} || " if self.is_row() else ""
                k.code.add(f"if ({padding}(row >= 0 && !(x > sum))) continue;")
                k.code.add("sum = x;")
                k.code.add("row = (ptrdiff_t)indices[e];")
        if self._is_written(self.most_at):
            at = terms(("bag", self.most_at.strides[0]), ("c", self.most_at.strides[1]))
            value = _position("(row < 0 ? 0 : row)", self.most_at)
            k.code.add(f"max_indices[{at}] = {value};")


def _position(value: str, tensor: TensorValue) -> str:
    return value if tensor.dtype == LONG else f"(int32_t){value}"


def _embedding_bag(k: Kernel) -> None:
    bags = _Bags(k)
    bags.declare()
    bags.fill_others()
    if bags.count == 0:
        return
    with k.code.block(f"for (ptrdiff_t bag = 0; bag < {bags.count}; ++bag)"):
        bags.declare_bag()
        bags.put_others()
        if bags.width == 0:
            return
        with k.code.block(f"for (ptrdiff_t c = 0; c < {bags.width}; ++c)"):
            if bags.mode == _MAX:
                bags.find_most()
            else:
                bags.add_rows()
            out = bags.out
            to = terms(("bag", out.strides[0]), ("c", out.strides[1]))
            k.code.add(f"out[{to}] = {k.store('sum', compute_type(out.dtype), out.dtype)};")


GENERATORS: dict[str, Generator] = {
    "aten::_embedding_bag.out": _embedding_bag,
    "aten::_embedding_bag_forward_only.out": _embedding_bag,
}
