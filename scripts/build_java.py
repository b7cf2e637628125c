"""Builds org.rushlight in build/java: rushlight.jar, the native library, and the classes of its tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "build/dev"
JUNIT = [Path("/usr/share/java") / name for name in ("junit4.jar", "hamcrest-core.jar")]
JAVAC = ["javac", "--release", "11", "-Xlint:all", "-Werror"]


def sources(folder: str) -> list[str]:
    return [str(path) for path in sorted((ROOT / "java/src" / folder / "java").rglob("*.java"))]


def build(jobs: str) -> Path:
    """Builds the package.

    Args:
        jobs: the number of parallel compiler processes.

    Returns:
        The folder with rushlight.jar, librushlight_jni.so, and the classes of the tests in `tests`.
    """
    tools, folder = Path(sys.executable).parent, ROOT / "build/java"
    cmake = str(tools / "cmake")
    subprocess.run([cmake, "-S", str(ROOT), "-B", str(NATIVE), "-DRUSHLIGHT_BUILD_JAVA=ON"], check=True)
    subprocess.run([cmake, "--build", str(NATIVE), "-j", jobs, "-t", "rushlight_jni"], check=True)
    shutil.rmtree(folder, ignore_errors=True)
    classes, tests, jar = folder / "classes", folder / "tests", folder / "rushlight.jar"
    subprocess.run([*JAVAC, "-Xdoclint:all,-missing", "-d", str(classes), *sources("main")], check=True)
    subprocess.run(["jar", "--create", "--file", str(jar), "-C", str(classes), "."], check=True)
    path = ":".join(map(str, [classes, *JUNIT]))
    subprocess.run([*JAVAC, "-cp", path, "-d", str(tests), *sources("test")], check=True)
    shutil.copy(NATIVE / "runtime/librushlight_jni.so", folder)
    return folder


if __name__ == "__main__":
    print(build(sys.argv[1] if len(sys.argv) > 1 else "2"))
