"""The imports between packages conform to the tables in ARCHITECTURE.md."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rushlight"

CORE = {"frontend", "ir", "passes", "delegate", "memory", "emit", "format", "compiler"}
ALLOWED: dict[str, set[str]] = {
    "files": set(),
    "format": set(),
    "ir": set(),
    "frontend": {"ir", "passes"},
    "passes": {"ir"},
    "memory": {"ir", "passes", "runtime"},
    "quantize": {"ir", "passes"},
    "delegate": {"ir", "passes", "format"},
    "emit": {"ir", "memory", "format", "target"},
    "codegen": set(),
    "target": {"runtime"},
    "select": {"format", "target", "backends", "devtools"},
    "aot_c": {"format", "devtools"},
    "compiler": CORE | {"target", "devtools"},
    "exir": CORE,
    "api": CORE | {"backends", "devtools"},
    "backends": {"ir", "passes", "quantize", "delegate", "format", "memory"},
    "export": CORE | {"quantize", "backends", "runtime"},
    "testing": CORE | {"quantize", "backends", "runtime", "export", "devtools", "compat"},
    "distributed": {"ir", "quantize", "runtime"},
    "llm": {"runtime"},
    "runtime": set(),
    "devtools": {"ir", "delegate", "emit", "format", "runtime", "backends"},
}
ANYTHING = {"compat", "cli", "__init__", "__main__"}
ANYONES = {"files"}  # packages that every package may import
WITHOUT_TORCH = {"format", "runtime", "codegen", "target", "llm"}
# The ATen mode runs on torch's kernels, reads the file itself and knows the operators defined in `ir`.
ATEN_MODE = ("runtime/aten/", "runtime/aten_lib.py")
ATEN_MODE_READS = {"format", "ir"}

CPP_ALLOWED: dict[str, set[str]] = {
    "platform": set(),
    "core": {"platform"},
    "program": {"core", "platform"},
    "microkernels": {"core", "platform"},
    "kernels": {"core", "platform", "microkernels"},
    "backends": {"core", "platform", "microkernels"},
    "trace": {"program", "core", "platform"},
    "training": {"core", "platform"},
    "threads": {"core", "platform"},
    "exec": {"program", "core", "platform"},
    "device": {"platform", "core", "program", "exec", "kernels", "backends"},
    "java": {"c"},
    "c": {"module", "core", "platform", "threads"},
    "module": {"platform", "core", "program", "kernels", "backends", "trace", "threads", "exec"},
}
CPP_ANYTHING = {"cli", "python", "executorch", "tests"}


def package_of(path: Path, base: Path) -> str:
    first = path.relative_to(base).parts[0]
    return first.removesuffix(".py")


@functools.cache
def syntax_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yields (line, absolute module) for every import statement."""
    for node in ast.walk(syntax_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            yield node.lineno, node.module or ""
            if node.module == "rushlight":
                for alias in node.names:
                    yield node.lineno, f"rushlight.{alias.name}"


PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))
CPP_FILES = sorted([*(ROOT / "runtime").rglob("*.h"), *(ROOT / "runtime").rglob("*.cpp")])


PACKAGES = sorted({package_of(path, PACKAGE) for path in PYTHON_FILES})


def python_files(package: str) -> list[Path]:
    return [path for path in PYTHON_FILES if package_of(path, PACKAGE) == package]


@pytest.mark.parametrize("package", PACKAGES)
def test_python_imports(package: str) -> None:
    problems = [
        f"{path.relative_to(PACKAGE)}:{line}: {problem}"
        for path in python_files(package)
        for line, module in imports(path)
        if (problem := problem_of_import(path, module))
    ]
    assert not problems, "\n".join(problems)


def problem_of_import(path: Path, module: str) -> str:
    """Returns the reason why a file may not import a module, or an empty text if it may."""
    package = package_of(path, PACKAGE)
    is_aten_mode = str(path.relative_to(PACKAGE)).startswith(ATEN_MODE)
    head, *rest = module.split(".")
    if head in {"torch", "torchao", "torchvision"} and package in WITHOUT_TORCH and not is_aten_mode:
        return f"{package} imports no torch"
    if head != "rushlight" or package in ANYTHING:
        return ""
    if not rest:
        return "no module imports the package root"
    if package not in ALLOWED:
        return f"the package {package} is not in the table of ARCHITECTURE.md"
    other = rest[0]
    if other == package == "backends" and len(rest) > 1:
        mine = path.relative_to(PACKAGE / "backends").parts[0].removesuffix(".py")
        return "" if rest[1] == mine else "a backend never imports another backend"
    if other in {package} | ANYONES | ALLOWED[package] or (is_aten_mode and other in ATEN_MODE_READS):
        return ""
    return f"{package} may not import {other}"


def test_tests_and_models_import_no_benchmarks() -> None:
    """Networks that tests and benchmarks share are in models/, which imports neither."""
    for folder, forbidden in (("tests", {"benchmarks"}), ("models", {"benchmarks", "tests"})):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, module in imports(path):
                where = f"{path.relative_to(ROOT)}:{line}"
                assert module.partition(".")[0] not in forbidden, f"{where}: {folder} may not import {module}"


def test_helpers_of_tests_are_imported_by_their_full_name() -> None:
    """The only form is `from tests.<folder>.<module> import ...`. A conftest.py contains only fixtures."""
    own = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        where = path.relative_to(ROOT)
        for line, module in imports(path):
            assert module.partition(".")[0] not in own, f"{where}:{line}: write tests.<folder>.{module}"
            assert not module.endswith(".conftest"), (
                f"{where}:{line}: a conftest.py may contain only fixtures"
            )
        if path.name not in ("native.py", "test_layers.py"):
            found = re.search(r"sys\.path\.(append|insert)|spec_from_file_location", path.read_text())
            assert not found, f"{where}: {found and found[0]}: import by the full name instead"


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "ir"])
def test_only_ir_indexes_the_metadata_of_nodes(package: str) -> None:
    """Other packages use the functions of `ir/meta.py` to read and write `node.meta`."""
    places = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in python_files(package)
        for node in ast.walk(syntax_of(path))
        if isinstance(node, (ast.Subscript, ast.Attribute))
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "meta"
    ]
    assert not places, f"{places} use .meta[...] or methods of .meta; use rushlight.ir.meta"


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_no_import_cycles() -> None:
    """Imports between files have no cycle, without regard to `__init__.py` files."""
    files = {module_of(path): path for path in PYTHON_FILES if path.name != "__init__.py"}
    below = {name: {other for _, other in imports(path) if other in files} for name, path in files.items()}
    while leaves := [name for name, others in below.items() if not others & below.keys()]:
        for name in leaves:
            del below[name]
    assert not below, f"import cycles, or modules that import one: {sorted(below)}"


# The script forks, so that torch is imported only once.
IMPORT_EACH = """
import importlib, os, sys, torch, torchao.quantization.pt2e
failed = []
for name in sys.argv[1:]:
    if not (child := os.fork()):
        try:
            importlib.import_module(name)
        except ImportError as error:
            os._exit(0 if (error.name or "").partition(".")[0] not in ("rushlight", "") else 1)
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
print(*failed)
"""


@pytest.mark.long
def test_every_module_imports_first() -> None:
    """Any module can be imported first. No module depends on imports of another module."""
    names = sorted({module_of(path) for path in PYTHON_FILES if path.name != "__main__.py"})
    run = subprocess.run(
        [sys.executable, "-c", IMPORT_EACH, *names], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def cpp_package_of(path: Path) -> str:
    public = ROOT / "runtime" / "include" / "rushlight"
    where = path.relative_to(ROOT / "runtime")
    if where == Path("include", "rushlight.h"):
        return "c"
    return package_of(path, public) if path.is_relative_to(public) else where.parts[0]


@pytest.mark.parametrize("package", sorted({cpp_package_of(path) for path in CPP_FILES} - CPP_ANYTHING))
def test_cpp_includes(package: str) -> None:
    assert package in CPP_ALLOWED, f"the package {package} is not in the table of ARCHITECTURE.md"
    problems = []
    for path in CPP_FILES:
        if cpp_package_of(path) != package:
            continue
        for number, text in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"(?:rushlight/)?([\w.-]+)/', text)
            other = match[1] if match else package
            if other in CPP_ALLOWED.keys() | CPP_ANYTHING and other not in CPP_ALLOWED[package] | {package}:
                problems.append(f"{path.relative_to(ROOT)}:{number}: {package} may not include {other}")
    assert not problems, "\n".join(problems)


UNSTABLE = re.compile(
    r"Py(List|Tuple)_[GS]ET_(ITEM|SIZE)|PyFloat_AS_DOUBLE|PySequence_Fast\w*|PyUnicode_(AsUTF8\(|DATA)|->tp_\w+"
)


def test_the_extension_keeps_to_the_stable_abi() -> None:
    """Wheels for Python 3.12 and later have one extension, which is compiled against the limited API."""
    for path in (ROOT / "runtime" / "python").glob("*.*"):
        found = UNSTABLE.search(path.read_text())
        assert not found, f"{path.name}: {found and found[0]} is not in the limited API"


MUTEX_OF_THE_SYSTEM = {
    "include/rushlight/platform/mutex.h",
    "backends/openvino/api.cpp",
    "backends/xnnpack/threads.cpp",
    "threads/thread_pool_os.cpp",
}
"""Files that may use std::mutex. Of these, WebAssembly and microcontrollers compile only the first."""


def test_the_runtime_locks_with_its_own_mutex() -> None:
    """WebAssembly and microcontrollers have no std::mutex."""
    users = {
        str(path.relative_to(ROOT / "runtime"))
        for path in CPP_FILES
        if path.relative_to(ROOT / "runtime").parts[0] not in {"python", "tests"}
        and "#include <mutex>" in path.read_text()
    }
    assert users == MUTEX_OF_THE_SYSTEM, "platform/mutex.h has a mutex for all systems"


def test_the_runtime_stays_free_of_exceptions() -> None:
    for path in CPP_FILES:
        if path.relative_to(ROOT / "runtime").parts[0] in {"python", "tests"}:
            continue
        code = re.sub(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", path.read_text())
        found = re.search(r"\b(try\s*{|catch\s*\(|throw\b|dynamic_cast|typeid)", code)
        assert not found, f"{path}: {found and found[0]}"
