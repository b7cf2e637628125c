"""Generates sources from `schema/*.fbs`: `python -m rushlight.codegen.generate [--check]`.

The command writes C++ descriptors and accessors (`runtime/**/*_generated.h`) and Python field tables
(`**/wire_tables.py`). For some schemas it also writes Python dataclasses. With `--check`, it writes nothing
and fails if a file is not up to date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rushlight.codegen.fbs import SchemaDecl, parse_schema
from rushlight.codegen.generate_cpp import cpp_header
from rushlight.codegen.generate_python import python_dataclasses, python_tables

# The C++ header of each schema, and the schemas of each Python module with field tables.
HEADERS = {
    "program": "runtime/program/schema_generated.h",
    "flat_tensor": "runtime/program/flat_tensor_generated.h",
    "xnnpack": "runtime/backends/xnnpack/schema_generated.h",
    "cpu_plan": "runtime/backends/cpu/schema_generated.h",
    "etdump": "runtime/trace/etdump_generated.h",
    "bundled_program": "runtime/program/bundled_program_generated.h",
}
TABLES = {
    "src/rushlight/format/wire_tables.py": ("program", "flat_tensor"),
    "src/rushlight/backends/xnnpack/wire_tables.py": ("xnnpack",),
    "src/rushlight/backends/cpu/plan/wire_tables.py": ("cpu_plan",),
    "src/rushlight/devtools/etdump/wire_tables.py": ("etdump",),
    "src/rushlight/devtools/bundled_program/wire_tables.py": ("bundled_program",),
    "src/rushlight/compat/native/wire_tables.py": ("native_graph",),
}
# By schema: the module of its dataclasses, and the module that defines the base class of operations.
DATACLASSES: dict[str, tuple[str, str | None]] = {
    "xnnpack": ("src/rushlight/backends/xnnpack/graph.py", None),
    "cpu_plan": ("src/rushlight/backends/cpu/plan/tables.py", "rushlight.backends.cpu.plan.operation"),
}


def generate(root: Path) -> dict[Path, str]:
    """Returns the text of each generated file, by path.

    Args:
        root: the root folder of the sources.
    """
    sources = dict.fromkeys([*HEADERS, *(name for names in TABLES.values() for name in names)])
    schemas: dict[str, SchemaDecl] = {name: parse_schema(root / "schema" / f"{name}.fbs") for name in sources}
    files = {root / path: cpp_header(schemas[name], f"{name}.fbs") for name, path in HEADERS.items()}
    for path, names in TABLES.items():
        files[root / path] = python_tables({name: schemas[name] for name in names})
    for name, (path, operations) in DATACLASSES.items():
        files[root / path] = python_dataclasses(schemas[name], f"{name}.fbs", operations)
    return files


def stale(root: Path) -> list[Path]:
    """Returns the generated files that are missing or not up to date."""
    return [path for path, text in generate(root).items() if not path.exists() or path.read_text() != text]


def main(arguments: list[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: the arguments; None means those of the process.

    Returns:
        1 if `--check` finds a file that is not up to date, else 0.
    """
    parser = argparse.ArgumentParser(description="Generate sources from schema/*.fbs.")
    parser.add_argument("--check", action="store_true", help="fail if a generated file is not up to date")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="root folder of the sources")
    options = parser.parse_args(arguments)
    if options.check:
        outdated = stale(options.root)
        for path in outdated:
            print(f"not up to date: {path}; run python -m rushlight.codegen.generate", file=sys.stderr)
        return 1 if outdated else 0
    for path, text in generate(options.root).items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
