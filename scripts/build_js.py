"""Builds the JavaScript package of js/ in build/js: WebAssembly modules and JavaScript files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from test_cross import environment

ROOT = Path(__file__).parents[1]


def build(jobs: str) -> Path:
    """Builds the package.

    Args:
        jobs: the number of parallel compiler processes.

    Returns:
        The folder of the package.
    """
    tools, folder, package = Path(sys.executable).parent, ROOT / "build/wasm", ROOT / "build/js"
    if not (folder / "build.ninja").exists():
        settings = {
            "CMAKE_MAKE_PROGRAM": tools / "ninja",
            "CMAKE_TOOLCHAIN_FILE": ROOT / "runtime/cmake/toolchains/wasm32-wasi.cmake",
            "RUSHLIGHT_ZIG": environment() / "python-zig",
            "RUSHLIGHT_BUILD_CLI": "OFF",
        }
        command: list[str | Path] = [tools / "cmake", "-S", ROOT / "runtime", "-B", folder, "-G", "Ninja"]
        subprocess.run([*command, *(f"-D{key}={value}" for key, value in settings.items())], check=True)
    subprocess.run([tools / "ninja", f"-j{jobs}", "-C", folder, "rushlight_wasm"], check=True)
    shutil.copytree(ROOT / "js", package, dirs_exist_ok=True)
    for module in folder.glob("*.wasm"):
        shutil.copy(module, package)
    return package


if __name__ == "__main__":
    print(build(sys.argv[1] if len(sys.argv) > 1 else "2"))
