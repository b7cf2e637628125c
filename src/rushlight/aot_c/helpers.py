"""C functions that the generated kernels call. A generated file contains only the functions that it needs."""

from __future__ import annotations

from collections.abc import Iterable

from rushlight.aot_c.fourier_helpers import FOURIER_HELPERS
from rushlight.aot_c.helper import Helper
from rushlight.aot_c.sort_helpers import SORT_HELPERS

MATH = ("math.h",)

HELPERS: dict[str, Helper] = {
    "float_bits": Helper(
        """static uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}""",
        headers=("string.h",),
    ),
    "bits_float": Helper(
        """static float bits_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}""",
        headers=("string.h",),
    ),
    "half_to_float": Helper(
        """/* float16 (IEEE 754 binary16) to float. */
static float half_to_float(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  float tiny;
  if (magnitude >= 0x7c00u) return bits_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u) return bits_float(sign | ((magnitude << 13) + 0x38000000u));
  tiny = (float)magnitude * 0x1p-24f;
  return sign != 0 ? -tiny : tiny;
}""",
        needs=("bits_float",),
    ),
    "float_to_half": Helper(
        """/* float to the nearest float16, ties to even. */
static uint16_t float_to_half(float value) {
  const uint32_t bits = float_bits(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    return (uint16_t)(sign | (float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000u));
  }
  return (uint16_t)(sign | (magnitude + 0xc8000fffu + (magnitude >> 13 & 1u)) >> 13);
}""",
        needs=("float_bits", "bits_float"),
    ),
    "bfloat16_to_float": Helper(
        "static float bfloat16_to_float(uint16_t value) { return bits_float((uint32_t)value << 16); }",
        needs=("bits_float",),
    ),
    "float_to_bfloat16": Helper(
        """/* float to the nearest bfloat16, ties to even. */
static uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}""",
        needs=("float_bits",),
    ),
    "wrap_add": Helper(
        "static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }"
    ),
    "wrap_sub": Helper(
        "static int64_t wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }"
    ),
    "wrap_mul": Helper(
        "static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }"
    ),
    "wrap_neg": Helper("static int64_t wrap_neg(int64_t a) { return (int64_t)(0 - (uint64_t)a); }"),
    "trunc_div": Helper(
        "static int64_t trunc_div(int64_t a, int64_t b) { return b == -1 ? wrap_neg(a) : a / b; }",
        needs=("wrap_neg",),
    ),
    "trunc_mod": Helper("static int64_t trunc_mod(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }"),
    "floor_mod": Helper(
        """static int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t mod = trunc_mod(a, b);
  return mod != 0 && (mod < 0) != (b < 0) ? mod + b : mod;
}""",
        needs=("trunc_mod",),
    ),
    "floor_div": Helper(
        """static int64_t floor_div(int64_t a, int64_t b) {
  const int64_t quotient = trunc_div(a, b);
  return trunc_mod(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}""",
        needs=("trunc_div", "trunc_mod"),
    ),
    "clamped_byte": Helper(
        "static uint8_t clamped_byte(int32_t x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }"
    ),
    "square": Helper("static double square(double x) { return x * x; }"),
    "integer_pow": Helper(
        """/* a to the power b. The result wraps around; for b < 0 it is rounded towards 0. */
static int64_t integer_pow(int64_t a, int64_t b) {
  int64_t power = 1;
  if (b < 0) {
    if (a == 1) return 1;
    return a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
  }
  for (; b > 0; b >>= 1) {
    if ((b & 1) != 0) power = wrap_mul(power, a);
    a = wrap_mul(a, a);
  }
  return power;
}""",
        needs=("wrap_mul",),
    ),
    "common_divisor": Helper(
        """static int64_t common_divisor(int64_t a, int64_t b) {
  a = a < 0 ? wrap_neg(a) : a;
  b = b < 0 ? wrap_neg(b) : b;
  while (b != 0) {
    const int64_t rest = trunc_mod(a, b);
    a = b;
    b = rest < 0 ? wrap_neg(rest) : rest;
  }
  return a;
}""",
        needs=("wrap_neg", "trunc_mod"),
    ),
    "common_multiple": Helper(
        """static int64_t common_multiple(int64_t a, int64_t b) {
  const int64_t divisor = common_divisor(a, b);
  int64_t multiple;
  if (divisor == 0) return 0;
  multiple = wrap_mul(trunc_div(a, divisor), b);
  return multiple < 0 ? wrap_neg(multiple) : multiple;
}""",
        needs=("common_divisor", "wrap_mul", "trunc_div", "wrap_neg"),
    ),
    "shift_left": Helper(
        """static int64_t shift_left(int64_t x, int64_t by, int64_t bits) {
  return by < 0 || by >= bits ? 0 : (int64_t)((uint64_t)x << by);
}"""
    ),
    "shift_right": Helper(
        """static int64_t shift_right(int64_t x, int64_t by, int64_t most) {
  return x >> (by < 0 || by > most ? most : by);
}"""
    ),
    "round_even_float": Helper(
        """/* The nearest integer, ties to even. */
static float round_even_float(float x) {
  const float magnitude = fabsf(x);
  const float rounded = (magnitude + 8388608.0f) - 8388608.0f;
  return copysignf(magnitude < 8388608.0f ? rounded : magnitude, x);
}""",
        headers=MATH,
    ),
    "round_even_double": Helper(
        """/* The nearest integer, ties to even. */
static double round_even_double(double x) {
  const double magnitude = fabs(x);
  const double rounded = (magnitude + 4503599627370496.0) - 4503599627370496.0;
  return copysign(magnitude < 4503599627370496.0 ? rounded : magnitude, x);
}""",
        headers=MATH,
    ),
    "requantize": Helper(
        """/* clamp(round(real / scale) + zero, least, most); NaN gives 0. */
static int32_t requantize(float real, float inverse, float zero, float least, float most) {
  const float x = round_even_float(real * inverse) + zero;
  const float clamped = x < least ? least : (x > most ? most : x);
  return clamped == clamped ? (int32_t)clamped : 0;
}""",
        needs=("round_even_float",),
    ),
}

for _type, _suffix in (("float", "f"), ("double", "")):
    _int = "int32_t"
    HELPERS[f"floor_quotient_{_type}"] = Helper(
        f"""static {_type} floor_quotient_{_type}({_type} x, {_type} y) {{
  {_type} mod, quotient, rounded;
  if (y == 0) return x / y;
  mod = fmod{_suffix}(x, y);
  quotient = (x - mod) / y;
  if (mod != 0 && (y < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return copysign{_suffix}(0, x / y);
  rounded = floor{_suffix}(quotient);
  return quotient - rounded > ({_type})0.5 ? rounded + 1 : rounded;
}}""",
        headers=MATH,
    )
    HELPERS[f"floor_remainder_{_type}"] = Helper(
        f"""static {_type} floor_remainder_{_type}({_type} x, {_type} y) {{
  const {_type} mod = fmod{_suffix}(x, y);
  return mod != 0 && (y < 0) != (mod < 0) ? mod + y : mod;
}}""",
        headers=MATH,
    )
    HELPERS[f"to_int32_{_type}"] = Helper(
        f"""static int32_t to_int32_{_type}({_type} x) {{
  return x >= ({_type})-2147483648.0 && x < ({_type})2147483648.0 ? (int32_t)x : INT32_MIN;
}}"""
    )
    HELPERS[f"xlogy_{_type}"] = Helper(
        f"""static {_type} xlogy_{_type}({_type} x, {_type} y) {{
  if (y != y) return y;
  return x == 0 ? 0 : x * log{_suffix}(y);
}}""",
        headers=MATH,
    )
    HELPERS[f"complex_{_type}"] = Helper(
        f"""static {_type} _Complex complex_{_type}({_type} real, {_type} imaginary) {{
  const {_type} parts[2] = {{real, imaginary}};
  {_type} _Complex number;
  memcpy(&number, parts, sizeof number);
  return number;
}}""",
        headers=("string.h",),
    )
    HELPERS[f"interpolate_{_type}"] = Helper(
        f"""/* The result is exact at both ends. */
static {_type} interpolate_{_type}({_type} from, {_type} to, {_type} weight) {{
  return fabs{_suffix}(weight) < ({_type})0.5 ? from + weight * (to - from) : to - (to - from) * (1 - weight);
}}""",
        headers=MATH,
    )
    HELPERS[f"exponent_of_{_type}"] = Helper(
        f"""static int64_t exponent_of_{_type}({_type} x) {{
  int exponent = 0;
  if (isfinite(x)) (void)frexp{_suffix}(x, &exponent);
  return exponent;
}}""",
        headers=MATH,
    )
    HELPERS[f"mantissa_of_{_type}"] = Helper(
        f"""static {_type} mantissa_of_{_type}({_type} x) {{
  int exponent;
  return isfinite(x) ? frexp{_suffix}(x, &exponent) : x;
}}""",
        headers=MATH,
    )
    _wide = 2**31 - 8 if _type == "double" else 2**31
    HELPERS[f"finite_position_{_type}"] = Helper(
        f"""/* Positions that int32 cannot hold become -100, which is outside of any image. */
static {_type} finite_position_{_type}({_type} x) {{
  return x < {_wide}.0{_suffix} && x > -{_wide}.0{_suffix} ? x : -100;
}}"""
    )
    HELPERS[f"border_position_{_type}"] = Helper(
        f"""/* The nearest position in the image; NaN becomes 0. */
static {_type} border_position_{_type}({_type} x, {_type} last) {{
  return x >= 0 ? (x < last ? x : last) : 0;
}}"""
    )
    HELPERS[f"reflected_{_type}"] = Helper(
        f"""static {_type} reflected_{_type}({_type} x, {_type} low, {_type} high) {{
  const {_type} span = high - low;
  const {_type} distance = fabs{_suffix}(x - low);
  {_type} rest;
  if (span <= 0) return 0;
  if (distance < span) return distance + low;
  rest = fmod{_suffix}(distance, span);
  return fmod{_suffix}(floor{_suffix}(distance / span), 2) == 0 ? rest + low : span - rest + low;
}}""",
        headers=MATH,
    )
    HELPERS[f"cubic_weights_{_type}"] = Helper(
        f"""/* The weights of four elements; x is the distance from the second one. Source: Keys, 1981. */
static void cubic_weights_{_type}({_type} x, {_type} *weights) {{
  const {_type} far[2] = {{x + 1, 2 - x}}, near[2] = {{x, 1 - x}};
  for (int i = 0; i < 2; ++i) {{
    weights[3 * i] = ((({_type})-0.75 * far[i] + ({_type})3.75) * far[i] - 6) * far[i] + 3;
    weights[1 + i] = (({_type})1.25 * near[i] - ({_type})2.25) * near[i] * near[i] + 1;
  }}
}}"""
    )

for _name in ("half", "bfloat16"):
    HELPERS[f"next_{_name}"] = Helper(
        f"""/* The next number after x in the direction of y. */
static float next_{_name}(float x, float y) {{
  uint16_t bits = float_to_{_name}(x);
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) {{
    bits = y < 0 ? 0x8001u : 0x0001u;
  }} else {{
    bits = (uint16_t)((x < y) == (x > 0) ? bits + 1 : bits - 1);
  }}
  return {_name}_to_float(bits);
}}""",
        needs=(f"float_to_{_name}", f"{_name}_to_float"),
    )

HELPERS.update(SORT_HELPERS)
HELPERS.update(FOURIER_HELPERS)


def with_needs(names: Iterable[str]) -> list[str]:
    """Returns the helpers and all helpers that they call. Each helper follows the helpers that it calls."""
    found: set[str] = set()

    def visit(name: str) -> None:
        if name not in found:
            found.add(name)
            for other in HELPERS[name].needs:
                visit(other)

    for name in names:
        visit(name)
    order = {name: position for position, name in enumerate(HELPERS)}
    ordered: list[str] = []
    for name in sorted(found, key=order.__getitem__):
        _append(name, ordered)
    return ordered


def _append(name: str, ordered: list[str]) -> None:
    if name in ordered:
        return
    for other in HELPERS[name].needs:
        _append(other, ordered)
    ordered.append(name)
