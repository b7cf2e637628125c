"""python -m benchmarks.browser [--threads 1 2] [--rounds 25]

Compares MobileNetV2 in headless Chromium with onnxruntime-web and tfjs-backend-wasm. All systems have the
same weights and the same input, and run in turn. The other figure is the number of bytes that a page
downloads, without weights. Rushlight is a selective build for the network, and its JavaScript is minified,
like that of the other systems. The command prints a table and writes all figures to a JSON file and a
picture of the page next to it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from test_cross import environment  # noqa: E402

from benchmarks.browser.chromium import run_page
from benchmarks.browser.prepare import NETWORK, PEER_FILES, prepare
from benchmarks.process import ROOT

OURS = ("rushlight.js", "rushlight-relaxed.wasm")
# Without error messages, log messages and event traces, which a page in production does not show.
SMALL = ("-DRUSHLIGHT_TRACING=OFF", "-DRUSHLIGHT_MESSAGES=OFF", "-DRUSHLIGHT_LOG_LEVEL=none")


def build_runtime(site: Path, jobs: int) -> None:
    """Builds a runtime with only the kernels of the network, in the folder `rushlight` of the site."""
    tools = Path(sys.executable).parent
    project, build = site.parent / "browser-selected", site.parent / "browser-selected-build"
    program = site / f"{NETWORK}.pte"
    subprocess.run([tools / "rushlight", "select", program, "--out", project], check=True)
    settings = [
        f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}",
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'runtime/cmake/toolchains/wasm32-wasi.cmake'}",
        f"-DRUSHLIGHT_ZIG={environment() / 'python-zig'}",
        f"-DRUSHLIGHT_WASM_OPT={site / 'node_modules' / '.bin' / 'wasm-opt'}",
        *SMALL,
    ]
    command = [str(tools / "cmake"), "-S", str(project), "-B", str(build), "-G", "Ninja", *settings]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tools / "ninja", f"-j{jobs}", "-C", build, "--quiet", "rushlight_wasm"], check=True)
    folder = site / "rushlight"
    folder.mkdir(exist_ok=True)
    terser = site / "node_modules" / ".bin" / "terser"
    for file in (ROOT / "js").glob("*.js"):
        minify: list[str | Path] = [terser, "--module", "--compress", "passes=3", "--mangle", "--output"]
        subprocess.run([*minify, folder / file.name, "--", file], check=True)
    for file in build.glob("*.wasm"):
        shutil.copy(file, folder)


def downloads(site: Path) -> dict[str, dict[str, int]]:
    """Returns the bytes that a page with one thread loads, without weights: plain and as gzip."""
    files = {"rushlight": [site / "rushlight" / name for name in OURS]}
    for system, names in PEER_FILES.items():
        files[system] = [site / "node_modules" / name for name in names]
    return {
        system: {
            "bytes": sum(path.stat().st_size for path in paths),
            "gzip": sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths),
        }
        for system, paths in files.items()
    }


def summary(system: dict[str, Any]) -> dict[str, Any]:
    """Returns the medians of a system. `processor` is the processor time of the main thread for one call."""
    times = [time for times in system["rounds"] for time in times]
    return {
        "threads": system["threads"],
        "load": round(system["load"]),
        "median": round(statistics.median(times), 2),
        "least": round(min(times), 2),
        "processor": round(statistics.median(system["processor"]), 2),
        "difference": system["difference"],
    }


def main() -> None:
    """Measures, prints the table and writes the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument(
        "--rounds", type=int, default=25, help="rounds; every system has a turn in each (default: 25)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.25, help="measured seconds of a system in a round (default: 0.25)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel compiler processes")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "browser-bench", help="of the page")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "browser.json")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    prepare(options.folder)
    build_runtime(options.folder, options.jobs)
    figures: dict[str, Any] = {"downloads": downloads(options.folder), "threads": {}}
    for threads in options.threads:
        results = run_page(
            options.folder,
            f"threads={threads}&rounds={options.rounds}&seconds={options.seconds}",
            isolated=threads > 1,
            screenshot=options.json.with_name(f"browser-{threads}.png"),
        )
        figures["threads"][threads] = {system["name"]: summary(system) for system in results["systems"]}
    options.json.write_text(json.dumps(figures, indent=2))
    for threads, systems in figures["threads"].items():
        for name, row in systems.items():
            size = figures["downloads"][name]
            print(
                f"{threads} threads  {name:12} median {row['median']:7.2f} ms  least {row['least']:7.2f} ms  "
                f"processor {row['processor']:7.2f} ms  load {row['load']:5} ms  "
                f"difference {row['difference']:.1e}  {size['bytes']:>9} bytes, {size['gzip']:>8} as gzip"
            )


if __name__ == "__main__":
    main()
