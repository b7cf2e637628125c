"""Writes the CMake project of a selective build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rushlight.files import write_file
from rushlight.format.program import ScalarType
from rushlight.format.pte import read_pte
from rushlight.select.own import OwnSources, own_header, own_variables
from rushlight.select.sources import FAMILIES, GENERIC, KINDS, KernelText, RuntimeSources
from rushlight.select.usage import FEATURES, Dtypes, Usage, is_bundled_program, program_of

# C++ names of dtypes that differ from the names in the format.
_CPP_NAMES = {
    ScalarType.COMPLEX32: "ComplexHalf",
    ScalarType.COMPLEX64: "ComplexFloat",
    ScalarType.COMPLEX128: "ComplexDouble",
    ScalarType.BFLOAT16: "BFloat16",
    ScalarType.UINT16: "UInt16",
    ScalarType.UINT32: "UInt32",
    ScalarType.UINT64: "UInt64",
}
_ALL_DTYPES = 0xFFFFFFFF
_WINDOWS = (3, 5, 7)  # Depthwise convolutions have specialized microkernels for these window sizes.
_CPU_FILES = ("backends/cpu/backend.cpp",)


@dataclass(frozen=True)
class Selection:
    """The contents of a selective build.

    Attributes:
        rows: the rows of the kernel tables.
        usage: the features that the programs use.
        families: families of instruction sets in addition to the generic one, such as `avx2`.
        programs: the bytes of programs or bundled programs that the runner embeds, by name.
        own: the user's own kernels, whose sources the build compiles too.
    """

    rows: Sequence[KernelText]
    usage: Usage
    families: frozenset[str] = frozenset()
    programs: Mapping[str, bytes] = field(default_factory=dict)
    own: OwnSources = OwnSources()


def select(
    usage: Usage,
    sources: RuntimeSources,
    *,
    kinds: Iterable[str] = KINDS,
    isas: Iterable[str] | None = None,
    own_operators: Iterable[str] = (),
    programs: Mapping[str, bytes] | None = None,
    own_sources: OwnSources | None = None,
) -> Selection:
    """Selects the kernels that programs use.

    Args:
        usage: the features that the programs use.
        sources: the runtime.
        kinds: the kernel libraries from which rows are selected. Without `optimized`, the results are those
            of the portable kernels.
        isas: families of instruction sets; None means the families of the CPU plans, or all families if
            optimized kernels are selected.
        own_operators: operators whose kernels the application provides.
        programs: programs to embed in the runner, by name.
        own_sources: sources of the user's own kernels, which the build compiles.

    Raises:
        ValueError: the runtime has no kernel for an operator, no program uses one of `own_operators`, or an
            instruction set is unknown.
    """
    taken = set(kinds)
    rows = [
        row
        for kind in KINDS
        if kind in taken
        for row in sources.rows[kind]
        if usage.every_operator or row.name in usage.operators
    ]
    own = own_sources or OwnSources()
    missing = usage.operators.keys() - {row.name for row in rows} - set(own_operators) - own.operators
    if missing:
        raise ValueError(
            f"the runtime has no kernels for {', '.join(sorted(missing))}; pass the C++ sources "
            "of your own kernels with --own-sources, or use --own to name the operators whose kernels your "
            "application provides"
        )
    unused = set(own_operators) - usage.operators.keys()
    if unused and not usage.every_operator:
        raise ValueError(f"--own {' '.join(sorted(unused))}: no given file uses this operator")
    families = set(usage.targets if isas is None else isas)
    if isas is None and any(row.kind == "optimized" for row in rows):
        families |= FAMILIES.keys()
    families.discard(GENERIC)
    unknown = families - FAMILIES.keys()
    if unknown:
        names = ", ".join([GENERIC, *FAMILIES])
        raise ValueError(f"unknown instruction sets: {', '.join(sorted(unknown))}; the names are {names}")
    return Selection(rows, usage, frozenset(families), programs or {}, own)


def project_files(selection: Selection, sources: RuntimeSources, name: str, folder: Path) -> dict[str, str]:
    """Returns the files of the project.

    Args:
        selection: the contents of the build.
        sources: the runtime.
        name: the name of the CMake project.
        folder: the folder to which the files will be written. Paths of sources inside it are relative, so
            that the folder can be moved.

    Returns:
        The text of each file, by its path in the project.
    """
    sources_of_build = _source_files(selection, sources)
    files = {
        "CMakeLists.txt": _project(selection, sources, name, folder),
        "selection.cmake": _selection(selection, sources_of_build, folder),
        "selected_microkernels.h": _microkernels(selection, sources, sources_of_build),
    }
    for kind in KINDS:
        rows = [row for row in selection.rows if row.kind == kind]
        if rows:
            files[f"{kind}_table.cpp"] = _table(kind, rows, selection.usage, sources)
    if selection.own.tables:
        files["own_kernels.h"] = own_header(selection.own)
    if selection.usage.steps:
        files["cpu_steps.cpp"] = _make_step(_steps_with_files(selection.usage, sources))
    if selection.programs:
        files["programs.cpp"] = _programs(selection.programs)
    return files


def write_project(folder: Path, files: Mapping[str, str]) -> None:
    """Writes the files of a project, and removes generated files that the project no longer has.

    Unchanged files are not written, so that the build system does not compile them again.

    Args:
        folder: the folder of the project.
        files: the text of each file, by its path in the project.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for generated in (*(f"{kind}_table.cpp" for kind in KINDS), "cpu_steps.cpp", "own_kernels.h"):
        if generated not in files:
            (folder / generated).unlink(missing_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_file(path, text)


def _project(selection: Selection, sources: RuntimeSources, name: str, folder: Path) -> str:
    definitions = " ".join(_runner_definitions(selection.programs))
    runner = f"""
add_executable(runner programs.cpp ${{RUSHLIGHT_RUNTIME}}/device/runner.cpp)
target_link_libraries(runner PRIVATE Rushlight::device)
target_compile_options(runner PRIVATE -fno-exceptions -fno-rtti)
target_compile_definitions(runner PRIVATE {definitions})
"""
    root, folder = sources.root.resolve(), folder.resolve()
    place = root.as_posix()
    if root.is_relative_to(folder):
        place = f"${{CMAKE_CURRENT_SOURCE_DIR}}/{root.relative_to(folder).as_posix()}"
    return f"""# Written by `rushlight select`.
cmake_minimum_required(VERSION 3.22)
project({name} LANGUAGES CXX)

set(RUSHLIGHT_RUNTIME "{place}" CACHE PATH "The folder runtime of Rushlight's sources")
set(RUSHLIGHT_SELECTION ${{CMAKE_CURRENT_SOURCE_DIR}})
set(RUSHLIGHT_INSTALL OFF)
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
  set(RUSHLIGHT_BUILD_CLI ON)
endif()
add_subdirectory(${{RUSHLIGHT_RUNTIME}} rushlight)
{runner if selection.programs else ""}"""


def _runner_definitions(programs: Mapping[str, bytes]) -> list[str]:
    """Returns definitions: the sizes of the arenas, and whether a program is bundled with test cases.

    All programs share the arenas. The second arena contains all planned memories except the first.
    """
    first, second = 64, 0
    for data in programs.values():
        for plan in read_pte(program_of(data)).program.execution_plan:
            sizes = [(size + 63) // 64 * 64 for size in plan.non_const_buffer_sizes[1:]]
            first = max(first, sum(sizes[:1]))
            second = max(second, sum(sizes[1:]))
    has_tests = any(is_bundled_program(data) for data in programs.values())
    return [
        f"RUSHLIGHT_ARENA_BYTES={first}",
        *([f"RUSHLIGHT_SECOND_ARENA_BYTES={second}"] if second else []),
        *["RUSHLIGHT_TEST_CASES"] * has_tests,
    ]


def _source_files(selection: Selection, sources: RuntimeSources) -> set[str]:
    """Returns the sources of the build in the folders from which only selected files are compiled."""
    files = sources.kernel_files(selection.rows)
    if selection.usage.steps:
        steps = sources.steps()
        files |= {*_CPU_FILES, *(steps[name] for name in selection.usage.steps)}
    return sources.closure(files, selection.families)


def _selection(selection: Selection, files: Iterable[str], folder: Path) -> str:
    listed = "\n".join(f"  {path}" for path in sorted(files))
    isas = " ".join(f"RL_HAS_{family.upper()}=1" for family in sorted(selection.families))
    dtypes = selection.usage.dtypes
    has_kernels = bool(selection.rows or selection.usage.operators or selection.own.tables)
    bits = _ALL_DTYPES if dtypes is None else sum(1 << dtype for dtype in dtypes)
    return f"""# Written by `rushlight select`.
set(RUSHLIGHT_SELECTED_SOURCES
{listed})
set(RUSHLIGHT_SELECTED_ISAS {isas})
set(RUSHLIGHT_SELECTED_DTYPES {bits:#x}u)
set(RUSHLIGHT_SELECTED_BACKENDS {"cpu" if selection.usage.steps else ""})
set(RUSHLIGHT_SELECTED_NO_KERNELS {"OFF" if has_kernels else "ON"})
{own_variables(selection.own, folder) if selection.own.tables else ""}"""


def _microkernels(selection: Selection, sources: RuntimeSources, files: Iterable[str]) -> str:
    """Returns the text of selected_microkernels.h.

    Optimized kernels may call any unary function, with windows of any size and all features.
    """
    usage = selection.usage
    members, named = sources.microkernels(files)
    windows, features = set(usage.windows), usage.features
    functions = {index for index, name in enumerate(sources.functions()) if name in named}
    functions |= {int(function) for function in usage.functions}
    if any(row.kind == "optimized" for row in selection.rows):
        windows, features = set(_WINDOWS), FEATURES
        functions = set(range(len(sources.functions())))
    words = sorted({*members, *(f"window{size}" for size in windows & set(_WINDOWS)), *features})
    lines = "\n".join(f'  "{word} " \\' for word in words)
    return f"""// Written by `rushlight select`: the macros that microkernels/tables/selected.h reads.
#define RL_SELECTED_FUNCTIONS {sum(1 << function for function in functions):#x}ull
#define RL_SELECTED \\
  " " \\
{lines}
  ""
"""


def _table(kind: str, rows: Sequence[KernelText], usage: Usage, sources: RuntimeSources) -> str:
    headers, namespace = sources.table_preamble(kind)
    includes = "\n".join(f'#include "{name}"' for name in headers)
    listed = "\n".join(f"    {_narrowed(row, usage.operators.get(row.name))}," for row in rows)
    return f"""// Written by `rushlight select`.
{includes}

namespace rushlight {{
namespace {{

using namespace {namespace};

constexpr Kernel kRows[] = {{
{listed}
}};

constexpr auto kTable = sorted_table(kRows);

}}  // namespace

KernelTable {kind}_kernels() {{ return {{kTable.data(), kTable.size()}}; }}

}}  // namespace rushlight
"""


def _narrowed(row: KernelText, dtypes: Dtypes) -> str:
    if not dtypes:
        return row.text
    names = ", ".join(f"ScalarType::{_CPP_NAMES.get(dtype, dtype.name.title())}" for dtype in sorted(dtypes))
    return f"narrowed({row.text}, DtypeSet({names}))"


def _steps_with_files(usage: Usage, sources: RuntimeSources) -> set[str]:
    """Returns the operations whose files the build contains. A file may contain several operations."""
    files = sources.steps()
    built = {files[name] for name in usage.steps}
    return {name for name, path in files.items() if path in built}


def _make_step(names: Iterable[str]) -> str:
    lines = "\n".join(f"    RL_CASE({name})" for name in sorted(names))
    return f"""// Written by `rushlight select`: the steps of CPU plans that this build contains.
#include "backends/cpu/step.h"

namespace rushlight::cpu {{

Result<Step*> make_step(const schema::Step& step, Binder& binder) {{
  const schema::Operation type = step.operation_type();
  switch (type) {{
#define RL_CASE(Name) \\
  case schema::Operation::Name: \\
    return make_step(step.operation_as_##Name(), binder);
{lines}
#undef RL_CASE
    default:
      // The plan was validated, so that the type is one of the schema.
      return fail(Error::NotSupported, "this selective build has no step %s of CPU plans",
                  static_cast<const char*>(schema::kOperationOperands[static_cast<size_t>(type) - 1].name));
  }}
}}

}}  // namespace rushlight::cpu
"""


def _programs(programs: Mapping[str, bytes]) -> str:
    arrays, rows = [], []
    for index, (name, data) in enumerate(programs.items()):
        lines = [", ".join(f"{byte:#04x}" for byte in data[i : i + 20]) for i in range(0, len(data), 20)]
        text = ",\n    ".join(lines)
        alignment = "sizeof(void*) == 8 ? 64 : 16"  # the runtime would copy bytes with a smaller alignment
        arrays.append(f"alignas({alignment}) constexpr uint8_t kProgram{index}[] = {{\n    {text}}};\n")
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        rows.append(f'    {{"{quoted}", kProgram{index}, sizeof(kProgram{index})}},\n')
    return f"""// Written by `rushlight select`.
#include "device/programs.h"

namespace rushlight::device {{
namespace {{

{"".join(arrays)}
constexpr EmbeddedProgram kPrograms[] = {{
{"".join(rows)}}};

}}  // namespace

Span<const EmbeddedProgram> embedded_programs() {{ return kPrograms; }}

}}  // namespace rushlight::device
"""
