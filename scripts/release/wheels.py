"""Builds wheels into `dist`: wheels.py [--target manylinux-x86_64 ...] [--python 3.10 ...] [--jobs N].

For each target and each Python (3.10, 3.11, and the stable ABI of 3.12 and later) it compiles the extension,
adds the Python sources and a bill of materials, and writes the wheel. auditwheel checks the tag. The bytes of
a wheel depend only on the sources, the compilers and SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import nanobind
import sbom
from common import DIST, ROOT, epoch, files_below, run, version
from zip_archive import write_zip

TOOLS = Path(sys.executable).parent
ABI3 = "3.12"  # the wheel for this Python also supports all later ones


@dataclass(frozen=True)
class Target:
    """A kind of system. `triple` is a part of the file names of Python extensions."""

    name: str
    machine: str
    toolchain: str
    tag: str
    triple: str


TARGETS = {
    target.name: target
    for target in (
        Target("manylinux-x86_64", "x86_64", "manylinux", "manylinux_2_28_x86_64", "x86_64-linux-gnu"),
        Target("manylinux-aarch64", "aarch64", "manylinux", "manylinux_2_28_aarch64", "aarch64-linux-gnu"),
        Target("musllinux-x86_64", "x86_64", "musllinux", "musllinux_1_2_x86_64", "x86_64-linux-musl"),
        Target("musllinux-aarch64", "aarch64", "musllinux", "musllinux_1_2_aarch64", "aarch64-linux-musl"),
    )
}


def interpreter(python: str) -> Path:
    """Returns the path of the interpreter of a Python release."""
    found = shutil.which(f"python{python}")
    if found is None:
        raise SystemExit(f"python{python} is not installed; its headers are needed to build its wheels")
    command = [found, "-c", "import sys; print(sys.executable)"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        # A version manager may run another release than the name says.
        environment = {**os.environ, "PYENV_VERSION": python}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return Path(done.stdout.strip())


def build(target: Target, python: str, jobs: int) -> Path:
    """Compiles the extension, installs it with CMake, and returns the folder.

    All Pythons of a target share a build folder, so that the runtime is compiled once.
    """
    folder = ROOT / "build" / f"wheel-{target.name}"
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MAKE_PROGRAM": TOOLS / "ninja",
        "CMAKE_TOOLCHAIN_FILE": ROOT / f"runtime/cmake/toolchains/{target.toolchain}.cmake",
        "RUSHLIGHT_ZIG": TOOLS / "python-zig",
        "RUSHLIGHT_MACHINE": target.machine,
        "RUSHLIGHT_STABLE_ABI": "ON" if python == ABI3 else "OFF",
        "SKBUILD_STATE": "wheel",
        "Python_EXECUTABLE": interpreter(python),
        "nanobind_DIR": nanobind.cmake_dir(),
    }
    # Removes entries of another Python, such as its headers, from the cache.
    words = ["-UPython_*", "-U_Python_*", "-UNB_*", *(f"-D{key}={value}" for key, value in settings.items())]
    run(TOOLS / "cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *words, stdout=subprocess.DEVNULL)
    run(TOOLS / "ninja", f"-j{jobs}", "-C", folder, "--quiet", "_native", "runtime_sources")
    installed = folder / f"installed-{python}"
    shutil.rmtree(installed, ignore_errors=True)
    run(
        *(TOOLS / "cmake", "--install", folder, "--component", "python", "--prefix", installed),
        stdout=subprocess.DEVNULL,
    )
    for extension in (installed / "rushlight/runtime").glob("_native*.so"):
        name = "_native.abi3.so"
        if python != ABI3:
            name = f"_native.cpython-{python.replace('.', '')}-{target.triple}.so"
        extension = extension.rename(extension.with_name(name))
        if target.toolchain == "musllinux":
            # Alpine and other distributions name musl by its machine; zig links it as libc.so.
            library = f"libc.musl-{target.machine}.so.1"
            run(TOOLS / "patchelf", "--replace-needed", "libc.so", library, extension)
    return installed


def metadata(folder: Path) -> Path:
    """Returns the folder `.dist-info` of the build backend, and adds the license of nanobind."""
    module = "scikit_build_core.build"
    code = f"import sys; from {module} import prepare_metadata_for_build_wheel as p; p(sys.argv[1])"
    run(sys.executable, "-c", code, folder, cwd=ROOT, stdout=subprocess.DEVNULL)
    (made,) = folder.glob("*.dist-info")
    for file in importlib.metadata.files("nanobind") or []:
        if file.name.startswith("LICENSE") and "dist-info" in str(file):
            (made / "licenses/nanobind").mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), made / "licenses/nanobind" / file.name)
    return made


def components(target: Target) -> list[sbom.Component]:
    """Returns the third-party components of the extension."""
    release = importlib.metadata.version("nanobind")
    found = [sbom.Component("nanobind", release, "BSD-3-Clause", f"pkg:pypi/nanobind@{release}")]
    if target.toolchain == "manylinux":
        is_native = target.machine == platform.machine()
        compiler = "g++" if is_native else f"{target.machine}-linux-gnu-g++"
        done = subprocess.run([compiler, "-dumpfullversion"], check=True, capture_output=True, text=True)
        number = done.stdout.strip()
        licence = "GPL-3.0-or-later WITH GCC-exception-3.1"
        found.append(sbom.Component("libstdc++", number, licence, f"pkg:generic/gcc@{number}"))
    else:
        number = importlib.metadata.version("ziglang")
        licence = "Apache-2.0 WITH LLVM-exception"
        found.append(sbom.Component("libc++", f"of zig {number}", licence, f"pkg:pypi/ziglang@{number}"))
    return [*found, *sbom.PAGE]


def write(target: Target, python: str, installed: Path) -> Path:
    """Writes the wheel."""
    tag = f"cp{python.replace('.', '')}"
    tags = f"{tag}-{'abi3' if python == ABI3 else tag}-{target.tag}"
    contents: dict[str, bytes] = {}
    for path in files_below(installed):
        contents[str(path.relative_to(installed))] = path.read_bytes()
    listed = subprocess.run(
        ["git", "ls-files", "src/rushlight"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in listed.stdout.split():
        if not name.startswith("src/rushlight/codegen/"):  # it generates source files in the repository
            contents[name.removeprefix("src/")] = (ROOT / name).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        made = metadata(Path(folder))
        for path in files_below(made):
            contents[f"{made.name}/{path.relative_to(made)}"] = path.read_bytes()
        information = made.name
    contents[f"{information}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: rushlight {version()}\nRoot-Is-Purelib: false\nTag: {tags}\n"
    ).encode()
    contents[f"{information}/sboms/rushlight.cdx.json"] = sbom.bill(components(target))
    record = f"{information}/RECORD"
    lines = []
    for name in sorted(contents):
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents[name]).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(contents[name])}\n")
    contents[record] = "".join([*lines, f"{record},,\n"]).encode()
    DIST.mkdir(exist_ok=True)
    wheel = DIST / f"rushlight-{version()}-{tags}.whl"
    contents = {name: contents[name] for name in [*sorted(contents.keys() - {record}), record]}
    write_zip(wheel, contents, time.gmtime(max(epoch(), 315532800)))  # zip files start at 1980
    return wheel


def check_tag(wheel: Path, target: Target) -> None:
    """Fails if auditwheel finds that the wheel does not conform to its tag."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True
    )
    said = " ".join(done.stdout.split())
    found = re.search(r'following platform tag: "([a-z]+)_(\d+)_(\d+)_(\w+)"', said)
    wanted = re.fullmatch(r"([a-z]+)_(\d+)_(\d+)_(\w+)", target.tag)
    assert wanted
    keeps = found and (found[1], found[4]) == (wanted[1], wanted[4])
    if not (keeps and found and (int(found[2]), int(found[3])) <= (int(wanted[2]), int(wanted[3]))):
        raise SystemExit(
            f"{wheel.name}: auditwheel does not confirm the tag {target.tag}:\n{said}{done.stderr}"
        )


def main() -> None:
    """Builds the wheels of all selected targets and Pythons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--python", nargs="+", default=["3.10", "3.11", ABI3])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    for name in options.target:
        for python in options.python:
            target = TARGETS[name]
            wheel = write(target, python, build(target, python, options.jobs))
            check_tag(wheel, target)
            print(f"{wheel.name}: {wheel.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
