"""Paths, modules and `make` targets that the documentation names exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# CHANGELOG.md also names what earlier versions had.
PAGES = [
    page
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")]
    if page.name != "CHANGELOG.md"
]
# A path may be relative to these folders.
FOLDERS = (
    "",
    "src/rushlight",
    "runtime",
    "runtime/include",
    "runtime/include/rushlight",
    "runtime/executorch",
    "runtime/executorch/include/executorch",
    "runtime/backends/cpu",
)
# Files that builds, tools or users write, and parts of names.
NOT_IN_REPOSITORY = re.compile(
    r"build/.*|_\w+\.cpp"
    r"|(net|own_kernels|selected_microkernels)\.h|(cpu_steps|programs|(portable|quantized|optimized)_table)\.cpp"
    r"|(.*/)?selected_operators\.yaml|tokenizer(_config)?\.json|model_c/model\.h|results/output_i\.npy"
    r"|swift/Rushlight\.xcframework|(torchvision|timm|transformers)/\w+"
    r"|c10/.*|(NativeFunctions|RegisterKernels)\.h|extension/llm|tools/cmake/(Utils|Codegen)\.cmake"
    r"|Register(CPUCustomOps|CodegenUnboxedKernelsEverything)\.cpp"
)
PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)+/?|[\w-]+/|[\w-]+\.(py|cpp|h|fbs|md|toml|yaml|json)")
MODULE = re.compile(r"(?:python -m )?((?:rushlight|tests|benchmarks|models)(?:\.[a-z_]\w*)+)(?:\(.*\))?")


def tracked() -> frozenset[str]:
    """Returns the files of the repository, and their folders."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("this is no Git checkout")
    files = [Path(line) for line in listed.stdout.splitlines()]
    return frozenset(str(path) for file in files for path in (file, *file.parents))


def names_of(page: Path) -> list[str]:
    """Returns the names in backquotes outside of blocks of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return re.findall(r"`([^`\n]+)`", text)


def is_path(name: str, page: Path, files: frozenset[str]) -> bool:
    folders = [*FOLDERS, str(page.parent.relative_to(ROOT))]
    if "*" in name:
        return any(any((ROOT / folder).glob(name)) for folder in folders)
    if any(str(Path(folder, name)) in files for folder in folders):
        return True
    return any(file.endswith("/" + name.rstrip("/")) for file in files)


def is_module_or_attribute(name: str) -> bool:
    """Returns whether a dotted name is a module, or a name in the text of the longest module of the name."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            spec = importlib.util.find_spec(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        if spec is not None:
            text = Path(spec.origin).read_text() if spec.origin else ""
            return all(re.search(rf"\b{re.escape(part)}\b", text) for part in parts[count:])
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names(page: Path) -> None:
    files = tracked()
    targets = re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.M)
    missing = []
    for name in names_of(page):
        if name.startswith("make "):
            found = name.split()[1] in targets
        elif (module := MODULE.fullmatch(name)) is not None and not name.endswith(
            (".h", ".js", ".wasm", ".jar")
        ):
            found = is_module_or_attribute(module[1])
        elif PATH.fullmatch(name) and not NOT_IN_REPOSITORY.fullmatch(name):
            found = is_path(name, page, files)
        else:
            continue
        if not found:
            missing.append(name)
    assert not missing


@pytest.mark.parametrize(
    ("name", "exists"),
    [("passes/runner.py", True), ("passes/absent.py", False), ("kernels/absent/", False), ("schema/", True)],
)
def test_paths_are_looked_up(name: str, exists: bool) -> None:
    assert is_path(name, ROOT / "README.md", tracked()) is exists


@pytest.mark.parametrize(
    ("name", "exists"),
    [
        ("rushlight.compile", True),
        ("rushlight.passes.runner.run_passes", True),
        ("rushlight.passes.absent", False),
        ("rushlight.absent", False),
    ],
)
def test_modules_are_looked_up(name: str, exists: bool) -> None:
    assert is_module_or_attribute(name) is exists
