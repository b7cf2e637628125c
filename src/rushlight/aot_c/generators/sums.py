"""Sums in the order of the portable kernels: four independent sums of each block of elements."""

from __future__ import annotations

from collections.abc import Callable

from rushlight.aot_c.code import Code

Value = Callable[[str], str]
"""Maps the position of an element to the C expression of the element."""


def add_up(code: Code, total: str, count: str | int, value: Value, c_type: str, tag: str = "") -> None:
    """Adds value(0) + ... + value(count - 1) to the variable `total`.

    Args:
        code: where to write.
        total: the expression before `+=`, or a declaration before `=` such as `const double sum`.
        count: the number of elements, at least one.
        value: an element.
        c_type: the type of the sums.
        tag: a suffix of the names.
    """
    s = [f"s{i}{tag}" for i in range(4)]
    k = f"k{tag}"
    few = isinstance(count, int) and count < 4
    if few:
        code.add(f"{c_type} {s[0]} = 0;")
    else:
        code.add(f"{c_type} {', '.join(f'{name} = 0' for name in s)};")
    code.add(f"ptrdiff_t {k} = 0;")
    if not few:
        with code.block(f"for (; {k} + 4 <= {count}; {k} += 4)"):
            code.add(f"{s[0]} += {value(k)};")
            for lane in range(1, 4):
                code.add(f"{s[lane]} += {value(f'({k} + {lane})')};")
    if not isinstance(count, int) or count % 4:
        code.add(f"for (; {k} < {count}; ++{k}) {s[0]} += {value(k)};")
    operator = "=" if " " in total else "+="
    # Sums of two lanes that are zero change nothing: a sum from +0 on is never -0.
    code.add(f"{total} {operator} {s[0] if few else f'({s[0]} + {s[1]}) + ({s[2]} + {s[3]})'};")
