"""Finds the runtime sources that kernels and CPU plan steps need, by scanning the text of the sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

KINDS = ("optimized", "quantized", "portable")

# Families of instruction sets by target name, with the suffixes of their files.
FAMILIES = {
    "avx2": ("avx2", "avxvnni"),
    "avx512": ("avx512", "avx512vnni", "avx512bf16"),
    "neon": ("neon", "neon_dotprod", "neon_i8mm"),
    "rvv": ("rvv", "rvv256"),
}
GENERIC = "generic"

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# A function definition at the start of a line. Group 1 is the class of a member function.
_DEFINITION = re.compile(
    r"^(?=\w)(?!namespace\b|static\b|using\b|return\b)[\w:<>&*, ]*?\b(?:(\w+)::)?(\w+)\(", re.M
)
# A definition of a variable that a header declares as extern. Its group 1 is empty as for functions.
_VARIABLE = re.compile(r"^()const [\w:]+ (\w+) = ", re.M)
# A kernel that wraps another kernel, which is its template argument.
_WRAPPER = re.compile(r"^inline constexpr BoxedKernel (\w+)", re.M)
# A function declaration at the start of a line.
_DECLARATION = re.compile(r"^[A-Za-z][^;{}()]*\([^;{}]*\)[a-z ]*;", re.M)
# The namespace of a microkernel table. Some files pass the namespace to the header that defines the table.
_ISA_NAMESPACE = re.compile(r"^(?:namespace rushlight::microkernels::|#define RL_ISA )(\w+)", re.M)
_WORD = re.compile(r"\w+")
# A comment, or a string literal, because a string may contain `//` or `/*`.
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
# Declarations and calls of members of the microkernel tables. A member of the nested table `packed` is called
# as `packed.member`.
_MEMBER = re.compile(r"\(\*(\w+)\)\(")
_CALL = re.compile(r"(?<!packed)(?:\.|->|::)(\w+)\b(?!\(\))")
_PACKED_CALL = re.compile(r"(?<=packed)(?:\.|->)(\w+)\b(?!\(\))")
_QUALIFIED = re.compile(rf"\b({'|'.join(KINDS)})::(\w+)")  # A function of another library.
_FUNCTION = re.compile(r"\bUnaryOp::(\w+)")
_GROUP_MEMBERS = frozenset({"packed.winograd", "packed.winograd_apart"})  # Members with several functions.
_MAKE_STEP = "make_step"  # Each operation has an overload, so that the name does not identify a file.


@dataclass(frozen=True)
class KernelText:
    """The text of a row of a kernel table in an `.inc` file.

    Attributes:
        kind: the library: `optimized`, `quantized` or `portable`.
        name: the operator with its overload.
        text: the C++ initializer, including its braces.
    """

    kind: str
    name: str
    text: str

    def functions(self) -> Iterator[tuple[str, str]]:
        """Yields (library, function name) for each function that the row calls."""
        for name in re.findall(r"&((?:\w+::)*\w+)", self.text):
            space, _, function = name.rpartition("::")
            yield space or self.kind, function


class RuntimeSources:
    """The sources in the folder `runtime`. Paths are relative to this folder and have slashes."""

    def __init__(self, root: Path) -> None:
        """Checks that the sources exist. Each file is read when it is first needed.

        Args:
            root: the folder `runtime` of Rushlight's sources.

        Raises:
            ValueError: the folder does not contain the sources.
        """
        if not (root / "kernels" / "portable" / "table.cpp").is_file():
            raise ValueError(f"{root} has no sources of the runtime; pass the folder with --runtime")
        self.root = root

    @cached_property
    def rows(self) -> dict[str, list[KernelText]]:
        """The rows of each kernel library, in the order of its files."""
        return {kind: list(self._rows_of(kind)) for kind in KINDS}

    def _rows_of(self, kind: str) -> Iterator[KernelText]:
        for path in sorted((self.root / "kernels" / kind).glob("*.inc")):
            text, depth, start = path.read_text(encoding="utf-8"), 0, 0
            for match in re.finditer(r"[{}]", text):
                if match[0] == "{":
                    start = match.start() if depth == 0 else start
                    depth += 1
                    continue
                depth -= 1
                if depth == 0:
                    row = text[start : match.end()]
                    yield KernelText(kind, row.split('"')[1], row)

    def table_preamble(self, kind: str) -> tuple[list[str], str]:
        """Returns the headers that the table of a library includes, and the namespace of its kernels."""
        text = self._text(f"kernels/{kind}/table.cpp")
        headers = [name for name in _INCLUDE.findall(text) if name.endswith(".h")]
        namespace = re.search(r"using namespace (\w+);", text)
        assert namespace is not None
        return headers, namespace[1]

    def steps(self) -> dict[str, str]:
        """Returns the file of each operation of CPU plans."""
        found: dict[str, str] = {}
        for path in self._files("backends/cpu/steps"):
            for name in re.findall(r"make_step\(const schema::(\w+)&", self._text(path)):
                found[name] = path
        return found

    def kernel_files(self, rows: Iterable[KernelText]) -> set[str]:
        """Returns the files that define the functions and the wrappers of the rows."""
        files: set[str] = set()
        for row in rows:
            for kind, function in row.functions():
                if (kind, function) in self._kernels:
                    files.add(self._kernels[kind, function])
            words = set(_WORD.findall(row.text))
            files.update(path for name, path in self._wrappers.items() if name in words)
        return files

    @cached_property
    def _wrappers(self) -> dict[str, str]:
        """The file of each wrapper of kernels that is not only a header, such as `steady`."""
        headers = {header for kind in KINDS for header in self.table_preamble(kind)[0]}
        return {
            name: source
            for header in sorted(headers)
            if (self.root / (source := header.removesuffix(".h") + ".cpp")).is_file()
            for name in _WRAPPER.findall(self._text(header))
        }

    @cached_property
    def _kernels(self) -> dict[tuple[str, str], str]:
        return {
            (kind, function): path
            for kind in KINDS
            for path in self._files(f"kernels/{kind}")
            for _, function in self._definitions(path)
        }

    @cached_property
    def _row_functions(self) -> set[tuple[str, str]]:
        """The (library, function name) of all rows."""
        return {pair for rows in self.rows.values() for row in rows for pair in row.functions()}

    def _kernels_called(self, path: str) -> set[str]:
        """Returns the files of the kernels that a kernel calls, with or without the name of the library."""
        parts = path.split("/")
        if parts[0] != "kernels" or not path.endswith(".cpp"):
            return set()
        own = {function for _, function in self._definitions(path)}
        called = {(parts[1], word) for word in self._words(path) - own}
        called.update(_QUALIFIED.findall(self._text(path)))
        return {self._kernels[pair] for pair in called & self._row_functions & self._kernels.keys()}

    def closure(self, files: Iterable[str], families: frozenset[str]) -> set[str]:
        """Returns `files` and all files that they need, in the folders with selected files.

        A file needs the headers that it includes. A kernel needs the files of the kernels that it calls. A
        header needs a file that defines one of the header's functions if another file mentions this function.
        A file that names the table of an instruction set needs the file of this table if the instruction set
        is generic or its family is in `families`.

        Args:
            files: source files.
            families: families of instruction sets in addition to the generic one.

        Returns:
            The `.cpp` files.
        """
        seen: set[str] = set()
        words: set[str] = set()
        waiting = set(files)
        while waiting:
            while waiting:
                path = waiting.pop()
                seen.add(path)
                words |= self._mentions(path)
                found = {name for name in _INCLUDE.findall(self._text(path)) if (self.root / name).is_file()}
                found.update(self._tables_named(path, families), self._kernels_called(path))
                twin = path.removesuffix(".cpp") + "_avx2.cpp"
                if path.startswith("kernels/") and (self.root / twin).is_file():
                    found.add(twin)
                waiting |= found - seen
            for header in [path for path in seen if path.endswith(".h")]:
                waiting |= {
                    path for path in self._includers.get(header, ()) if self._is_used(path, header, words)
                }
            waiting -= seen
        return {path for path in seen if path.endswith(".cpp")}

    def microkernels(self, files: Iterable[str]) -> tuple[set[str], set[str]]:
        """Returns the microkernels that files call.

        Args:
            files: the files of a build.

        Returns:
            The members of microkernel tables and the unary functions, such as `Affine`, that these files and
            their headers mention. The implementations of the microkernels are not scanned.
        """
        members = set(_GROUP_MEMBERS)
        for header in sorted((self.root / "microkernels" / "tables").glob("*.h")):
            prefix = "packed." if header.name == "f32_packed.h" else ""
            members.update(prefix + name for name in _MEMBER.findall(header.read_text(encoding="utf-8")))
        called: set[str] = set()
        functions: set[str] = set()
        for path in self._with_headers(files):
            if path.startswith("microkernels/") and ("/impl/" in path or "/isa/" in path):
                continue
            called.update(_CALL.findall(self._text(path)))
            called.update(f"packed.{name}" for name in _PACKED_CALL.findall(self._text(path)))
            functions.update(_FUNCTION.findall(self._text(path)))
        return members & called, functions

    def functions(self) -> list[str]:
        """Returns the unary functions, in the order of their numbers."""
        match = re.search(
            r"enum class UnaryOp : uint8_t \{(.*?)\};", self._text("microkernels/tables/f32.h"), re.S
        )
        assert match is not None
        return re.findall(r"^\s*(\w+),", match[1], re.M)

    def _with_headers(self, files: Iterable[str]) -> set[str]:
        """Returns the files and all headers that they include, directly or indirectly."""
        seen: set[str] = set()
        waiting = set(files)
        while waiting:
            path = waiting.pop()
            seen.add(path)
            found = {name for name in _INCLUDE.findall(self._text(path)) if (self.root / name).is_file()}
            waiting |= found - seen
        return seen

    def _is_used(self, path: str, header: str, words: set[str]) -> bool:
        """Whether a file defines a function or a class that the header declares and other files mention."""
        declared = self._words(header)
        return any(
            name in declared and name in words
            for owner, function in self._definitions(path)
            for name in [owner or function]
        )

    def _mentions(self, path: str) -> set[str]:
        """Returns the words in a file, without the names of functions that the file declares or defines."""
        if path.endswith(".h"):
            return set(_WORD.findall(_DECLARATION.sub("", self._text(path))))
        return self._words(path) - {function for owner, function in self._definitions(path) if not owner}

    def _words(self, path: str) -> set[str]:
        return set(_WORD.findall(self._text(path)))

    @cached_property
    def _includers(self) -> dict[str, list[str]]:
        """For each header: the `.cpp` files in its folder or subfolders that include it.

        Portable kernels and the files of tables are left out, because they are selected by name.
        """
        found: dict[str, list[str]] = {}
        folders = ("kernels/shared", "kernels/optimized", "kernels/quantized", "microkernels", "backends/cpu")
        for folder in folders:
            for path in self._files(folder):
                if path.startswith("microkernels/isa/") or path.endswith("/table.cpp"):
                    continue
                for name in _INCLUDE.findall(self._text(path)):
                    if path.startswith(name.rpartition("/")[0] + "/"):
                        found.setdefault(name, []).append(path)
        return found

    def _tables_named(self, path: str, families: frozenset[str]) -> list[str]:
        if not path.startswith("microkernels/") or path.startswith("microkernels/isa/"):
            return []
        suffixes = {GENERIC, *(suffix for family in families for suffix in FAMILIES[family])}
        names = re.findall(r"^namespace (\w+) \{", self._text(path), re.M)
        return [
            file
            for name in names
            for file in self._isa_files.get(name, ())
            if any(file.endswith(f"_{suffix}.cpp") for suffix in suffixes)
        ]

    @cached_property
    def _isa_files(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._files("microkernels/isa"):
            for name in set(_ISA_NAMESPACE.findall(self._text(path))):
                found.setdefault(name, []).append(path)
        return found

    def _definitions(self, path: str) -> set[tuple[str, str]]:
        if path not in self._defined:
            found = {*_DEFINITION.findall(self._text(path)), *_VARIABLE.findall(self._text(path))}
            self._defined[path] = {pair for pair in found if pair[1] != _MAKE_STEP}
        return self._defined[path]

    @cached_property
    def _defined(self) -> dict[str, set[tuple[str, str]]]:
        return {}

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {}

    def _text(self, path: str) -> str:
        """Returns the text of a file without comments, because words in comments must not select files."""
        if path not in self._texts:
            text = (self.root / path).read_text(encoding="utf-8")
            self._texts[path] = _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
        return self._texts[path]

    def _files(self, folder: str) -> list[str]:
        return [
            path.relative_to(self.root).as_posix() for path in sorted((self.root / folder).rglob("*.cpp"))
        ]
