"""Sums in the order of the portable kernels, which compute four independent sums of each block.

Example: `sum` of float32[2, 6] along the last dimension.

    static void sum_0(const f32 *restrict in, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        double sum = 0;
        {
          double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
          ptrdiff_t e = 0;
          for (; e + 4 <= 6; e += 4) {
            s0 += (double)in[6 * i + e];
            s1 += (double)in[6 * i + ((e + 1))];
            s2 += (double)in[6 * i + ((e + 2))];
            s3 += (double)in[6 * i + ((e + 3))];
          }
          for (; e < 6; ++e) s0 += (double)in[6 * i + e];
          sum += (s0 + s1) + (s2 + s3);
        }
        out[i] = (float)sum;
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight.aot_c.code import Code

Value = Callable[[str], str]
"""Maps the position of an element to the C expression of the element."""


def add_up(code: Code, total: str, count: str | int, value: Value, c_type: str, tag: str = "") -> None:
    """Adds value(0) + ... + value(count - 1) to the variable `total`.

    Args:
        code: receives the lines.
        total: the C variable to add to, or a declaration such as `const double sum`.
        count: the number of elements, at least one.
        value: maps a position to the C expression of the element.
        c_type: the C type of the sums.
        tag: the suffix of the variable names.
    """
    s = [f"s{i}{tag}" for i in range(4)]
    k = f"e{tag}"  # no loop around the sum has this name
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
    # Adding an unused sum changes nothing: it is +0, and a sum that starts at +0 is never -0.
    code.add(f"{total} {operator} {s[0] if few else f'({s[0]} + {s[1]}) + ({s[2]} + {s[3]})'};")
