"""C functions that sort the elements of a row, and those that select some of them.

The functions change an array of positions in the row, and not the elements. The order of equal elements
follows from the algorithms, which are those of `std::sort`, `std::nth_element` and `std::partial_sort` in
GNU's C++ library: introsort and introselect (Musser, 1997), and heapsort.
"""

from __future__ import annotations

from rushlight.aot_c.dtypes import BFLOAT16, C_TYPES, ELEMENTS, FLOATING, HALF, PARTS, c_compute, compute_type
from rushlight.aot_c.helper import Helper
from rushlight.format.program import ScalarType

_ROW = """/* A row of elements. NaN is above all numbers. With `stable`, equal elements keep their order. */
typedef struct {
  const T *in;
  ptrdiff_t stride;
  bool descending, stable;
} row_T;"""

_BEFORE = """/* Whether element a of a row comes before element b in sorted order. */
static bool before_T(const row_T *row, i32 a, i32 b) {
  const C x = LOAD(row->in[a * row->stride]), y = LOAD(row->in[b * row->stride]);
  const bool above = ABOVE(x, y), below = ABOVE(y, x);
  if (above == below) return row->stable && a < b;
  return row->descending ? above : below;
}"""

_SIFT = """/* Inserts an item into a heap of n positions, where no item is at position `hole`. */
static void sift_T(const row_T *row, i32 *order, ptrdiff_t hole, ptrdiff_t n, i32 item) {
  const ptrdiff_t top = hole;
  ptrdiff_t child = hole;
  while (child < (n - 1) / 2) {
    child = 2 * child + 2;
    if (before_T(row, order[child], order[child - 1])) --child;
    order[hole] = order[child];
    hole = child;
  }
  if (n % 2 == 0 && child == (n - 2) / 2) {
    order[hole] = order[2 * child + 1];
    hole = 2 * child + 1;
  }
  for (; hole > top && before_T(row, order[(hole - 1) / 2], item); hole = (hole - 1) / 2) {
    order[hole] = order[(hole - 1) / 2];
  }
  order[hole] = item;
}"""

_SELECT_HEAP = """\
/* Moves the first `count` of n positions in sorted order to the front. order[0] is the last one of them. */
static void select_heap_T(const row_T *row, i32 *order, ptrdiff_t count, ptrdiff_t n) {
  for (ptrdiff_t i = count / 2; i-- > 0;) sift_T(row, order, i, count, order[i]);
  for (ptrdiff_t i = count; i < n; ++i) {
    const i32 item = order[i];
    if (!before_T(row, item, order[0])) continue;
    order[i] = order[0];
    sift_T(row, order, 0, count, item);
  }
}"""

_SORT_HEAP = """/* Sorts a heap of n positions. */
static void sort_heap_T(const row_T *row, i32 *order, ptrdiff_t n) {
  for (ptrdiff_t i = n - 1; i > 0; --i) {
    const i32 item = order[i];
    order[i] = order[0];
    sift_T(row, order, 0, i, item);
  }
}"""

_DIVIDE = """\
/* Divides positions [first, last) at the median of three. Returns the start of the second part. */
static ptrdiff_t divide_T(const row_T *row, i32 *order, ptrdiff_t first, ptrdiff_t last) {
  const ptrdiff_t a = first + 1, b = first + (last - first) / 2, c = last - 1;
  ptrdiff_t low = first + 1, high = last, median;
  if (before_T(row, order[a], order[b])) {
    median = before_T(row, order[b], order[c]) ? b : before_T(row, order[a], order[c]) ? c : a;
  } else {
    median = before_T(row, order[a], order[c]) ? a : before_T(row, order[b], order[c]) ? c : b;
  }
  swap_items(order, first, median);
  for (;; ++low) {
    while (before_T(row, order[low], order[first])) ++low;
    do --high;
    while (before_T(row, order[first], order[high]));
    if (low >= high) return low;
    swap_items(order, low, high);
  }
}"""

_INSERT = """/* Sorts positions [first, last) by insertion. */
static void insertion_sort_T(const row_T *row, i32 *order, ptrdiff_t first, ptrdiff_t last) {
  for (ptrdiff_t i = first + 1; i < last; ++i) {
    const i32 item = order[i];
    ptrdiff_t j = i;
    for (; j > first && before_T(row, item, order[j - 1]); --j) order[j] = order[j - 1];
    order[j] = item;
  }
}"""

_SORT = """/* Sorts n positions. Equal elements have the order of introsort. */
static void sort_T(const row_T *row, i32 *order, ptrdiff_t n) {
  ptrdiff_t first = 0, last = n, ends[64];
  int depth = 2 * log2_of(n), depths[64], waiting = 0;
  for (;;) {
    if (last - first > 16 && depth > 0) {
      ends[waiting] = last;
      depths[waiting++] = --depth;
      last = divide_T(row, order, first, last);
      continue;
    }
    if (last - first > 16) {
      select_heap_T(row, order + first, last - first, last - first);
      sort_heap_T(row, order + first, last - first);
    }
    if (waiting == 0) break;
    first = last;
    last = ends[--waiting];
    depth = depths[waiting];
  }
  insertion_sort_T(row, order, 0, n);
}"""

_SELECT = """\
/* Moves the position at `place` in sorted order there, and those before it to the front. */
static void select_T(const row_T *row, i32 *order, ptrdiff_t place, ptrdiff_t n) {
  ptrdiff_t first = 0, last = n;
  for (int depth = 2 * log2_of(n); last - first > 3; --depth) {
    if (depth == 0) {
      select_heap_T(row, order + first, place + 1 - first, last - first);
      swap_items(order, first, place);
      return;
    }
    const ptrdiff_t middle = divide_T(row, order, first, last);
    if (middle <= place) {
      first = middle;
    } else {
      last = middle;
    }
  }
  insertion_sort_T(row, order, first, last);
}"""

_TEMPLATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "row": (_ROW, ()),
    "before": (_BEFORE, ("row",)),
    "sift": (_SIFT, ("before",)),
    "select_heap": (_SELECT_HEAP, ("sift",)),
    "sort_heap": (_SORT_HEAP, ("sift",)),
    "divide": (_DIVIDE, ("before", "swap_items")),
    "insertion_sort": (_INSERT, ("before",)),
    "sort": (_SORT, ("divide", "insertion_sort", "select_heap", "sort_heap", "log2_of")),
    "select": (_SELECT, ("divide", "insertion_sort", "select_heap", "log2_of", "swap_items")),
}
"""For each helper, its text and the names of the helpers that it uses. `T` is the element type."""

_COMMON = {
    "swap_items": Helper(
        """static void swap_items(i32 *order, ptrdiff_t a, ptrdiff_t b) {
  const i32 item = order[a];
  order[a] = order[b];
  order[b] = item;
}"""
    ),
    "log2_of": Helper(
        """static int log2_of(ptrdiff_t n) {
  int bits = 0;
  for (; n > 1; n /= 2) ++bits;
  return bits;
}"""
    ),
}


def _helper(template: str, needs: tuple[str, ...], dtype: ScalarType) -> Helper:
    suffix = ELEMENTS[dtype]
    text = template.replace("_T", f"_{suffix}").replace("const T *", f"const {suffix} *")
    loads = {HALF: "half_to_float", BFLOAT16: "bfloat16_to_float"}
    load = loads.get(dtype)
    above = "{0} > {1} || ({0} != {0} && {1} == {1})" if dtype in FLOATING else "{0} > {1}"
    c_type = c_compute(compute_type(dtype))
    if load is None:
        cast = "" if C_TYPES[dtype] == c_type else f"({c_type})"
        text = text.replace("LOAD(row->in[a * row->stride])", f"{cast}row->in[a * row->stride]")
        text = text.replace("LOAD(row->in[b * row->stride])", f"{cast}row->in[b * row->stride]")
    text = text.replace("LOAD", load or "").replace("const C x", f"const {c_type} x")
    text = text.replace("ABOVE(x, y)", above.format("x", "y")).replace("ABOVE(y, x)", above.format("y", "x"))
    names = tuple(name if name in _COMMON else f"{name}_{suffix}" for name in needs)
    return Helper(text, names + ((load,) if load and "LOAD" in template else ()))


SORT_HELPERS: dict[str, Helper] = {
    **_COMMON,
    **{
        f"{name}_{ELEMENTS[dtype]}": _helper(text, needs, dtype)
        for dtype in ELEMENTS
        if dtype not in PARTS
        for name, (text, needs) in _TEMPLATES.items()
    },
}
"""The helpers, by names such as `sort_f32`."""
