"""python -m benchmarks.check [--base COMMIT] [--models ...]

Compares the working tree with a commit. Both compile the same networks, and their programs run in turn. The
command prints the ratios of run times and compile times of each network. `make bench-check` calls it.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from models.catalog import MODELS
from rich.console import Console
from rich.table import Table

from benchmarks.latency import last_line, relative_error
from benchmarks.process import MAIN, ROOT, Process

MODELS_OF_CHECK = ("mobilenet_v2", "resnet18", "convnext_tiny", "deit_tiny", "bert", "lstm", "unet")
"""Networks of several kinds, which compile within seconds."""


@dataclass(frozen=True)
class Tree:
    """A checkout, the Python in which its package is installed, and the measured system of its benchmarks."""

    name: str
    root: Path
    python: Path
    system: str

    def start(self, arguments: tuple[str, ...], log: Path, threads: int = 1) -> Process:
        """Starts a worker of the tree's own benchmarks."""
        return Process(self.python, "benchmarks.worker", *arguments, log=log, threads=threads, root=self.root)


@dataclass
class Comparison:
    """Times of the working tree divided by those of the base. Above 1, the working tree is slower."""

    model: str
    threads: int
    milliseconds: float
    rounds: list[float]
    """Ratios of the medians, one for each round."""
    best: float
    """The ratio of the shortest times."""
    compile: float
    difference: float
    """The largest difference of their outputs, relative to the largest magnitude."""

    @property
    def median(self) -> float:
        """The median ratio, for the table and for the option --limit."""
        return statistics.median(self.rounds)


def base_tree(commit: str, system: str) -> Tree:
    """Checks the commit out in `build/bench-check`, and installs its package in an environment there.

    The environment shares all other packages with that of the working tree. An existing tree is used again.
    """
    name = _output("git", "rev-parse", "--short=12", f"{commit}^{{commit}}")
    folder = ROOT / "build" / "bench-check" / name
    tree = Tree(name, folder / "tree", folder / "venv" / "bin" / "python", system)
    if (folder / "ready").exists():
        return tree
    shutil.rmtree(folder, ignore_errors=True)
    tree.root.mkdir(parents=True)
    archive = folder / "tree.tar"
    _run("git", "archive", "-o", str(archive), name)
    _run("tar", "-xf", str(archive), "-C", str(tree.root))
    archive.unlink()
    _run(str(MAIN), "-m", "venv", "--without-pip", str(folder / "venv"))
    ours, theirs = (
        Path(_output(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
        for python in (MAIN, tree.python)
    )
    # Python ignores .pth files in a folder that a .pth file adds, so that editable packages are not found
    # there.
    (theirs / "packages_of_the_working_tree.pth").write_text(f"{ours}\n")
    install = (
        "install",
        "-q",
        "--no-build-isolation",
        "--no-deps",
        "-C",
        f"build-dir={tree.root / 'build' / 'dev'}",
    )
    _run(str(MAIN), "-m", "pip", "--python", str(tree.python), *install, str(tree.root))
    (folder / "ready").touch()
    return tree


def compare(model: str, trees: tuple[Tree, Tree], options: argparse.Namespace) -> list[Comparison]:
    """Measures a network in both trees, once for each number of threads.

    Raises:
        RuntimeError: a tree cannot prepare or run the network.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = [folder / tree.name for tree in trees]
        log = folder / "log"
        _answer(trees[0].start(("reference", model, scratch, "float"), log), log, close=True)
        seconds: list[list[float]] = [[], []]
        for _ in range(options.compilations):
            for tree, place, found in zip(trees, files, seconds, strict=True):
                place.mkdir(exist_ok=True)
                answer = _answer(tree.start(("write", tree.system, model, str(place)), log), log, close=True)
                found.append(answer["seconds"])
        compiling = min(seconds[0]) / min(seconds[1])
        return [
            _measure(model, threads, trees, files, folder, compiling, options) for threads in options.threads
        ]


def _measure(
    model: str,
    threads: int,
    trees: tuple[Tree, Tree],
    files: list[Path],
    folder: Path,
    compiling: float,
    options: argparse.Namespace,
) -> Comparison:
    ratios: list[float] = []
    times: list[list[float]] = [[], []]
    for instance in range(options.instances):
        workers = []
        for tree, place in zip(trees, files, strict=True):
            log = folder / f"{tree.name}.log"
            arguments = ("run", tree.system, str(folder), str(place), str(threads))
            process = tree.start(arguments, log, threads)
            _answer(process, log)
            workers.append(process)
        for turn in range(options.rounds):
            medians = [0.0, 0.0]
            for i in (0, 1) if (turn + instance) % 2 else (1, 0):
                found = workers[i].ask({"run": options.seconds})
                medians[i] = statistics.median(found)
                times[i] += found
            ratios.append(medians[0] / medians[1])
        for process in workers:
            process.close()
    difference = relative_error(files[0], files[1])
    milliseconds = statistics.median(times[0])
    return Comparison(
        model, threads, milliseconds, ratios, min(times[0]) / min(times[1]), compiling, difference
    )


def _answer(process: Process, log: Path, close: bool = False) -> Any:
    answer = process.answer()
    if close or answer is None:
        process.close()
    if answer is None:
        raise RuntimeError(last_line(log))
    return answer


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _run(*command: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description=__doc__)
    parser.add_argument(
        "--base", default="HEAD", metavar="commit", help="the commit to compare with (default: HEAD)"
    )
    parser.add_argument(
        "--systems",
        nargs="+",
        default=["rushlight"],
        metavar="system",
        help="a system of benchmarks/systems, such as rushlight_high, and optionally its name in the base",
    )
    parser.add_argument("--models", nargs="+", default=MODELS_OF_CHECK, choices=MODELS, metavar="model")
    parser.add_argument("--threads", nargs="+", type=int, default=[1], help="(default: 1)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of a pair of processes (default: 10)")
    parser.add_argument(
        "--seconds", type=float, default=0.1, help="measured seconds of a tree in a round (default: 0.1)"
    )
    parser.add_argument("--instances", type=int, default=3, help="pairs of processes (default: 3)")
    parser.add_argument(
        "--compilations", type=int, default=2, help="compilations of each network (default: 2)"
    )
    parser.add_argument("--limit", type=float, help="the command fails if a median ratio is above this limit")
    options = parser.parse_args(arguments)
    if len(options.systems) > 2:
        parser.error("--systems takes the working tree's system and, if the name differs, that of the base")
    return options


def main(arguments: list[str] | None = None) -> None:
    options = options_of(arguments)
    console = Console(width=None if sys.stdout.isatty() else 140)
    system, base_system = (*options.systems, options.systems[-1])[:2]
    trees = (Tree("working-tree", ROOT, MAIN, system), base_tree(options.base, base_system))
    table = Table(title=f"The working tree / {trees[1].name}", title_justify="left", title_style="bold")
    for name in ("network", "threads", "median ms", "ratio", "quartiles", "best", "compile", "difference"):
        table.add_column(name, justify="left" if name == "network" else "right")
    failures = []
    for model in options.models:
        console.print(f"{model} ...", style="dim")
        try:
            found = compare(model, trees, options)
        except RuntimeError as error:
            failures.append(f"{model}: {error}")
            continue
        for row in found:
            if options.limit is not None and row.median > options.limit:
                failures.append(f"{model}, {row.threads} threads: {row.median:.3f} is above {options.limit}")
            low, high = np.percentile(row.rounds, (25, 75))
            table.add_row(
                row.model,
                str(row.threads),
                f"{row.milliseconds:.3f}",
                f"{row.median:.3f}",
                f"{low:.3f} {high:.3f}",
                f"{row.best:.3f}",
                f"{row.compile:.2f}",
                f"{row.difference:.0e}",
            )
    console.print(table)
    for failure in failures:
        console.print(failure, style="red")
    if failures:
        sys.exit(1)


if __name__ == "__main__":
    main()
