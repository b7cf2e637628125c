"""Writes the files next to the C source of a program: a CMake project, and a program that runs test cases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rushlight.aot_c.code import double_literal, int_literal
from rushlight.aot_c.dtypes import C_TYPES, FLOATING, SIXTEEN, name_of, part_type, parts_of, size_of
from rushlight.aot_c.errors import AotCError
from rushlight.aot_c.method import MethodText
from rushlight.aot_c.method_values import End
from rushlight.aot_c.program import CProgram
from rushlight.aot_c.source import array
from rushlight.aot_c.values import Number, TensorValue
from rushlight.devtools.bundled_program import schema


def cmake_project(name: str, has_check: bool) -> str:
    """Returns the text of a CMakeLists.txt with the library and, with `has_check`, the program `check`."""
    check = (
        f"\nadd_executable(check main.c)\ntarget_link_libraries(check PRIVATE {name})\n" if has_check else ""
    )
    return f"""# Written by `rushlight aot-c`.
cmake_minimum_required(VERSION 3.22)
project({name} LANGUAGES C)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)

add_library({name} STATIC {name}.c)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE -ffp-contract=off -ffunction-sections -fdata-sections)
endif()
if(NOT WIN32)
  target_link_libraries({name} PUBLIC m)
endif()
{check}"""


def check_program(program: CProgram, name: str, suites: Sequence[schema.BundledMethodTestSuite]) -> str:
    """Writes a C program that runs test cases, prints the bits of the results and checks the results.

    Args:
        program: the program as C.
        name: the prefix of the C names.
        suites: the test cases of each method.

    Raises:
        AotCError: there are no test cases, or a test case does not match the inputs or outputs of its method.
    """
    arrays: list[str] = []
    runs: list[str] = []
    for suite in suites:
        method = program.methods.get(suite.method_name)
        if method is None:
            raise AotCError(
                f"the file has test cases for '{suite.method_name}', but the program has no such method"
            )
        runs.append(f'  puts("method {suite.method_name}");')
        for index, case in enumerate(suite.test_cases):
            runs.append(_run(method, case, f"{method.function}_{index}", index, arrays))
    if not runs:
        raise AotCError("the file has no test cases; pass a .bpte file with test cases")
    return _MAIN.format(name=name, arrays="\n\n".join(arrays), runs="\n".join(runs))


def _run(
    method: MethodText, case: schema.BundledMethodTestCase, prefix: str, index: int, arrays: list[str]
) -> str:
    """Writes the block that runs one test case. Its data is added to `arrays`."""
    if len(case.inputs) != len(method.inputs):
        raise AotCError(
            f"a test case of '{method.name}' has {len(case.inputs)} inputs, not {len(method.inputs)}"
        )
    lines, arguments, results = [], [], []
    for end, value in zip(method.inputs, case.inputs, strict=True):
        if end.name is None:
            continue
        if isinstance(end.value, TensorValue):
            arguments.append(_array(end, end.value, value.val, f"{prefix}_{end.name}", method, arrays))
        else:
            arguments.append(_number(value.val, method))
    expected: list[schema.Value | None] = [*case.expected_outputs] or [None] * len(method.outputs)
    for position, (end, wanted) in enumerate(zip(method.outputs, expected, strict=False)):
        if end.name is None:
            continue
        if isinstance(end.value, TensorValue):
            tensor = end.value
            count = tensor.numel * parts_of(tensor.dtype)
            lines.append(f"    static {C_TYPES[part_type(tensor.dtype)]} {end.name}[{max(count, 1)}];")
            arguments.append(end.name)
            given = "NULL"
            if wanted is not None:
                given = _array(end, tensor, wanted.val, f"{prefix}_{end.name}", method, arrays)
            items = [
                str(position),
                f'"{name_of(tensor.dtype)}"',
                end.name,
                given,
                str(count),
                str(size_of(part_type(tensor.dtype))),
                _kind(tensor),
            ]
            results.append(f"    is_ok &= show({', '.join(items)});")
        else:
            assert isinstance(end.value, Number)
            lines.append(f"    {end.value.c_type} {end.name} = 0;")
            arguments.append(f"&{end.name}")
            test = (
                "true"
                if wanted is None
                else f"fabs((double){end.name} - {_number(wanted.val, method)}) < 1e-6"
            )
            results.append(f'    printf("output {position}: number %g\\n", (double){end.name});')
            results.append(f"    is_ok &= {test};")
    call = f"{method.function}({', '.join(arguments)})"
    body = "\n".join([*lines, f'    puts("test case {index}");', f"    is_ok &= {call} == 0;", *results])
    return f"  {{\n{body}\n  }}"


def _kind(tensor: TensorValue) -> str:
    """Returns how the program compares elements: as float ('f'), as double ('d') or as bits ('b')."""
    dtype = part_type(tensor.dtype)
    if dtype in FLOATING and dtype not in SIXTEEN:
        return "'f'" if size_of(dtype) == 4 else "'d'"
    return "'b'"


def _array(
    end: End,
    tensor: TensorValue,
    value: object,
    name: str,
    method: MethodText,
    arrays: list[str],
) -> str:
    """Adds an array with the elements of a tensor in a test case. Returns the name of the array."""
    fits = isinstance(value, schema.Tensor) and value.scalar_type == tensor.dtype
    if not isinstance(value, schema.Tensor) or not fits or tuple(value.sizes) != tensor.sizes:
        raise AotCError(
            f"a test case of '{method.name}' does not match {end.name}, which is {tensor.describe()}"
        )
    if tuple(value.dim_order) != tensor.dim_order and tensor.rank > 1:
        raise AotCError(f"a test case of '{method.name}' has a different dim order for {end.name}")
    data = bytes(value.data) or bytes(tensor.item_size)
    arrays.append(array(f"static const {C_TYPES[part_type(tensor.dtype)]} {name}", data, tensor.dtype))
    return name


def _number(value: object, method: MethodText) -> str:
    if isinstance(value, schema.Bool):
        return "true" if value.bool_val else "false"
    if isinstance(value, schema.Int):
        return int_literal(value.int_val)
    if not isinstance(value, schema.Double):
        raise AotCError(f"a test case of '{method.name}' has a {type(value).__name__} instead of a number")
    return double_literal(value.double_val) if math.isfinite(value.double_val) else "NAN"


_MAIN = """/* Written by `rushlight aot-c`: runs test cases and prints the bits of each result. Prints OK if
 * all results are as expected. */
#include "{name}.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The largest difference between a floating-point result and the expected number. */
#ifndef RELATIVE_TOLERANCE
#define RELATIVE_TOLERANCE 1e-4
#endif
#ifndef ABSOLUTE_TOLERANCE
#define ABSOLUTE_TOLERANCE 1e-5
#endif

{arrays}

static double number_at(const void *data, int index, char kind) {{
  float single;
  double wide;
  if (kind == 'f') {{
    memcpy(&single, (const char *)data + sizeof single * (size_t)index, sizeof single);
    return (double)single;
  }}
  memcpy(&wide, (const char *)data + sizeof wide * (size_t)index, sizeof wide);
  return wide;
}}

/* Prints the bits of a tensor. Returns true if the tensor is as expected, or if `expected` is NULL. */
static bool show(int position, const char *dtype, const void *data, const void *expected, int count, int size,
                 char kind) {{
  const unsigned char *bytes = (const unsigned char *)data;
  const unsigned char *wanted = (const unsigned char *)expected;
  bool is_ok = true;
  printf("output %d: %s", position, dtype);
  for (int i = 0; i < count; ++i) {{
    unsigned long long bits = 0;
    for (int j = size - 1; j >= 0; --j) bits = bits << 8 | bytes[i * size + j];
    printf(" %0*llx", 2 * size, bits);
    if (wanted == NULL) continue;
    if (kind == 'b') {{
      is_ok = is_ok && memcmp(bytes + i * size, wanted + i * size, (size_t)size) == 0;
    }} else {{
      const double a = number_at(data, i, kind), b = number_at(expected, i, kind);
      const double most = ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * fabs(b);
      is_ok = is_ok && (a == b || fabs(a - b) <= most || (a != a && b != b));
    }}
  }}
  puts("");
  return is_ok;
}}

int main(void) {{
  bool is_ok = true;
{runs}
  puts(is_ok ? "OK" : "FAILED: a result differs from the expected result");
  return is_ok ? 0 : 1;
}}
"""
