"""The Python code in README.md and in every page of docs/ runs from top to bottom, as a reader would copy it.

Each page is a separate script in an empty folder. Line numbers of the script are those of the page.
The lines of console blocks that start with "$ " run after it.
Blocks of C and C++ are compiled as fragments. `AROUND` contains the declarations that each block needs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fresh import run_python

ROOT = Path(__file__).parents[1]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python\n" in page.read_text()
]

# Pages that show the output of their code, in blocks without a language.
SHOWN = {"memory.md", "programs.md"}


def python_of(page: Path) -> str:
    """Returns the Python code of a page. Each line keeps its line number, and all other lines are empty."""
    lines, inside = [], False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            lines.append("")
        else:
            lines.append(line if inside else "")
    return "\n".join(lines)


def output_of(page: Path) -> str:
    """Returns the text of all blocks without a language."""
    lines, language = [], None
    for line in page.read_text().splitlines(keepends=True):
        if line.startswith("```"):
            language = line[3:].strip() if language is None else None
        elif language == "":
            lines.append(line)
    return "".join(lines)


def console_of(page: Path) -> list[str]:
    """Returns the blocks of commands, which run after the Python code of a page in the same folder."""
    return re.findall(r"^```console\n(.*?)^```$", page.read_text(), flags=re.M | re.S)


@pytest.mark.parametrize(
    "page",
    [
        # A page that starts Ray takes longer than a minute; tests/distributed has the same calls.
        pytest.param(page, marks=[pytest.mark.long] if page.name == "many-machines.md" else [])
        for page in PAGES
    ],
    ids=lambda page: page.name,
)
def test_python_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    script = tmp_path / f"{page.stem}_page.py"
    script.write_text(python_of(page))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = run_python(script, cwd=tmp_path, environment=environment)
    assert done.returncode == 0, (
        f"{page.name} (the traceback has the line numbers of the page):\n{done.stderr}"
    )
    if page.name in SHOWN:
        assert done.stdout and done.stdout == output_of(page)
    commands = [
        line[2:] for block in console_of(page) for line in block.splitlines() if line.startswith("$ ")
    ]
    for command in commands:
        run = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, f"{page.name}: {command}\n{run.stderr}"


def test_the_pages_are_found() -> None:
    assert len(PAGES) >= 7 and SHOWN <= {page.name for page in PAGES}


ROW = """
#include "rushlight/core/library.h"
using namespace rushlight;
"""
GATE = """
void gate_out(KernelRuntimeContext&, const Tensor&, const std::optional<Tensor>&, double, Tensor&);
"""
TRACE = """
#include "rushlight/exec/method.h"
#include "rushlight/trace/etdump.h"
void store(const uint8_t* data, size_t size);
void report(const char* message);
"""
# The code before and after each C++ block of a page, in the order of the page.
C_API = """
#include <rushlight.h>
#include <stdio.h>
"""
AROUND: dict[str, list[tuple[str, str]]] = {
    "executorch-cpp.md": [("", "")],
    "training.md": [("", ""), ("", "")],
    "add-a-backend.md": [
        (ROW + "struct StackBackend : BackendInterface {}; extern StackBackend backend;", ""),
    ],
    "bundled-programs.md": [
        (
            """
            #include "rushlight/module/bundled_module.h"
            int report(const char* message);
            int check(const rushlight::Module::Options& options) {
            """,
            "return 0; }",
        ),
        (
            """
            #include "rushlight/exec/bundled_test.h"
            rushlight::Error check(rushlight::Method& method, const void* data, size_t size) {
            """,
            "return error; }",
        ),
    ],
    "c-api.md": [
        (C_API + "int classify(void) {", "return logits[0] > 0; }"),
        (
            C_API + "void my_parallel_for(void*, size_t, void (*)(void*, size_t), void*);",
            "void use(rushlight_thread_pool** pool) { rushlight_thread_pool_custom(4, run, NULL, pool); }",
        ),
        (
            C_API
            + "void run(void*, size_t, void (*)(void*, size_t), void*);"
            + "void load(rushlight_program* program, rushlight_method* method, int my_executor) {",
            "}",
        ),
    ],
    "custom-operators.md": [
        (ROW, ""),
        (ROW + GATE, ""),
    ],
    "event-traces.md": [
        (TRACE + "void start(rushlight::Environment& environment) {", "}"),
        (TRACE + "void stop(rushlight::ETDumpGen& tracer) {", "}"),
    ],
    "platforms.md": [("", "")],
    "embedding.md": [
        (
            """
            #include "rushlight/module/defaults.h"
            #include "rushlight/module/module.h"
            #include "rushlight/module/tensor_ptr.h"
            #include "rushlight/threads/thread_pool.h"
            int report(const char* message);
            int classify(float* pixels) {
            """,
            "return logits[0] > 0; }",
        ),
        (
            """
            #include "rushlight/core/memory.h"
            #include "rushlight/exec/method.h"
            #include "rushlight/program/buffer_loader.h"
            #include "rushlight/program/program.h"
            alignas(16) static unsigned char method_memory[1024], temporary_memory[1024];
            using namespace rushlight;
            void run(const void* program_bytes, size_t size, Span<Span<uint8_t>> planned,
                     const Environment& environment, TensorImpl input) {
            """,
            "}",
        ),
    ],
}


INCLUDES = [ROOT / "runtime" / "include", ROOT / "runtime" / "executorch" / "include"]

# For each language of blocks: the suffix of the file, the possible compilers, and their options.
LANGUAGES = {
    "cpp": (("c++", "g++", "clang++"), ["-std=c++17", "-fno-exceptions", "-fno-rtti"]),
    "c": (("cc", "gcc", "clang"), ["-std=c99", "-pedantic"]),
}


def fragments_of(page: Path) -> list[tuple[str, str]]:
    """Returns the blocks of C and C++ in a page, each with its language."""
    return re.findall(r"^```(cpp|c)\n(.*?)^```$", page.read_text(), flags=re.M | re.S)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_fragments_compile(page: Path, tmp_path: Path) -> None:
    blocks, around = fragments_of(page), AROUND.get(page.name, [])
    assert len(blocks) == len(around), (
        f"{page.name} has {len(blocks)} blocks of C or C++: describe each in AROUND"
    )
    for number, ((language, block), (before, after)) in enumerate(zip(blocks, around, strict=True)):
        compilers, options = LANGUAGES[language]
        compiler = next(filter(None, map(shutil.which, compilers)))
        source = tmp_path / f"{page.stem}_{number}.{language}"
        source.write_text(f'{before}\n#line 1 "{page.name}, block {number}"\n{block}\n{after}\n')
        command = [compiler, *options, "-Wall", "-Wextra", "-fsyntax-only"]
        done = subprocess.run(
            [*command, *(f"-I{folder}" for folder in INCLUDES), str(source)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
