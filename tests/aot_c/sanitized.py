"""Programs in C under AddressSanitizer and UndefinedBehaviorSanitizer, with inputs of ones."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.aot_c.harness import STRICT, write

from rushlight.aot_c.dtypes import C_TYPES, part_type, parts_of
from rushlight.aot_c.program import CProgram
from rushlight.aot_c.values import TensorValue


def run_all(program: CProgram, folder: Path, flags: Sequence[str], name: str = "model") -> None:
    """Calls every method.

    Arrays have exactly the sizes of the tensors, so that reads out of bounds are found.
    """
    write(program, folder)
    blocks = []
    for method in program.methods.values():
        lines, arguments = [], []
        for end in (*method.inputs, *method.outputs):
            if end.name is None:
                continue
            if isinstance(end.value, TensorValue):
                dtype = end.value.dtype
                c_type, count = C_TYPES[part_type(dtype)], max(end.value.numel * parts_of(dtype), 1)
                lines.append(f"    {c_type} *{end.name} = malloc({count} * sizeof({c_type}));")
                lines.append(f"    for (int i = 0; i < {count}; ++i) {end.name}[i] = 1;")
                arguments.append(end.name)
            elif end in method.inputs:
                arguments.append("1")
            else:
                lines.append(f"    {end.c_type} {end.name} = 0;")
                arguments.append(f"&{end.name}")
        lines.append(f"    failures += {method.function}({', '.join(arguments)});")
        lines += [f"    free({a});" for a in arguments if a.isidentifier()]
        blocks.append("  {\n" + "\n".join(lines) + "\n  }")
    functions = "\n".join(f"static void part_{i}(void) {block}" for i, block in enumerate(blocks))
    calls = "\n".join(f"  part_{i}();" for i in range(len(blocks)))
    main = (
        f'#include "{name}.h"\n#include <stdio.h>\n#include <stdlib.h>\nstatic int failures = 0;\n'
        f'{functions}\nint main(void) {{\n{calls}\n  printf("%d\\n", failures);\n  return 0;\n}}\n'
    )
    (folder / "main.c").write_text(main)
    command = [
        "gcc",
        *STRICT,
        "-O1",
        *flags,
        folder / f"{name}.c",
        folder / "main.c",
        "-o",
        folder / "main",
        "-lm",
    ]
    for words in (command, [folder / "main"]):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-6000:]
