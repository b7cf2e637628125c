"""Builds the C++ package into `dist`: an archive for CMake and a Debian package: cpp.py [--jobs N].

Both contain the headers, static libraries, `librushlight.so` with the C API, executor_runner and the CMake
packages. To test them, the script extracts each into an empty folder and builds an application with it.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import DIST, ROOT, epoch, files_below, run, version, write_tar

TOOLS = Path(sys.executable).parent
MACHINE = platform.machine()
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
CONTROL = """Package: librushlight-dev
Version: {version}
Architecture: {architecture}
Maintainer: Rushlight maintainers <maintainers@users.noreply.rushlight.example>
Installed-Size: {size}
Section: libdevel
Priority: optional
Depends: libc6 (>= 2.35), libstdc++6 (>= 12)
Description: runtime for PyTorch programs that were prepared ahead of time
 Headers, libraries, a CMake package and executor_runner.
"""


def install(jobs: int, prefix: str, target: Path) -> None:
    """Builds the runtime without Python, and installs it below a folder."""
    folder = ROOT / "build/cpp"
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MAKE_PROGRAM": TOOLS / "ninja",
        "CMAKE_INSTALL_PREFIX": prefix,
        "CMAKE_INSTALL_LIBDIR": "lib",
        "RUSHLIGHT_BUILD_SHARED": "ON",
        "RUSHLIGHT_XNNPACK_LIBRARY": "OFF",
    }
    if shutil.which("ccache"):
        settings["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    words = [f"-D{key}={value}" for key, value in settings.items()]
    quiet = {"stdout": subprocess.DEVNULL}
    run(TOOLS / "cmake", "-S", ROOT / "runtime", "-B", folder, "-G", "Ninja", *words, **quiet)
    run(TOOLS / "ninja", f"-j{jobs}", "-C", folder, "--quiet")
    command = (TOOLS / "cmake", "--install", folder, "--strip")
    run(*command, env={**os.environ, "DESTDIR": str(target)}, **quiet)


def debian(root: Path) -> Path:
    """Writes a Debian package of a folder that contains the root of the file system."""
    size = sum(path.stat().st_size for path in files_below(root)) // 1024
    control = CONTROL.format(version=version(), architecture=DEBIAN[MACHINE], size=size)
    documents = root / "usr/share/doc/librushlight-dev"
    documents.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", documents / "copyright")
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(control, encoding="utf-8")
    package = DIST / f"librushlight-dev_{version()}_{DEBIAN[MACHINE]}.deb"
    run(
        *("dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, package),
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())},
        stdout=subprocess.DEVNULL,
    )
    return package


def try_package(prefix: Path, folder: Path) -> None:
    """Builds the example application with an installation, and runs it without a program."""
    built = folder / "example"
    settings = [f"-Drushlight_DIR={prefix}/lib/cmake/rushlight", "-DCMAKE_BUILD_TYPE=Release"]
    quiet = {"stdout": subprocess.DEVNULL}
    run(TOOLS / "cmake", "-S", ROOT / "examples/embed", "-B", built, *settings, **quiet)
    run(TOOLS / "cmake", "--build", built, **quiet)
    golden = max((ROOT / "tests/golden/programs").iterdir())
    run(prefix / "bin/executor_runner", "--model_path", golden / "image-kernels.pte", **quiet)


def main() -> None:
    """Builds, writes and tests both packages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install(options.jobs, "/usr", folder / "root")
        stem = f"rushlight-cpp-{version()}-linux-{MACHINE}"
        archive = DIST / f"{stem}.tar.xz"
        write_tar(folder / "root/usr", stem, archive)
        package = debian(folder / "root")
        run("tar", "xf", archive, "-C", folder)
        try_package(folder / stem, folder / "a")
        run("dpkg-deb", "-x", package, folder / "scratch")
        try_package(folder / "scratch/usr", folder / "b")
    for path in (archive, package):
        print(f"{path.name}: {path.stat().st_size:,} bytes; the example builds with it")


if __name__ == "__main__":
    main()
