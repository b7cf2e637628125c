"""Tests microkernels and whole programs on emulated processors of other architectures: `make cross`.

Each build has a toolchain file. QEMU (Wasmtime for WebAssembly) runs the build once for each processor of the
table. The tests must include all sets of microkernels of the processor. The results of programs are compared
with those of this machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from program_results import arguments, check

ROOT = Path(__file__).resolve().parent.parent
CROSS = ROOT / ".venv-cross"
NAMES = ("rushlight_microkernels_tests", "executor_runner")
# Programs that need kernels, which these builds do not contain.
LEFT_OUT = ("block_int4",)


@dataclass(frozen=True)
class Machine:
    """A processor.

    Attributes:
        build: the toolchain file.
        cpu: the name of the processor in QEMU.
        microkernels: the sets of microkernels that the tests must find.
        target: the target for which programs are compiled.
    """

    build: str
    cpu: str
    microkernels: Sequence[str]
    target: str


MACHINES = (
    Machine("aarch64-linux", "cortex-a53", ("neon",), "neon"),
    Machine("aarch64-linux", "neoverse-n1", ("neon", "neon_dotprod"), "neon"),
    Machine("aarch64-linux", "max", ("neon", "neon_dotprod", "neon_i8mm"), "neon"),
    Machine("riscv64-linux", "rv64", ("generic",), "generic"),
    Machine("riscv64-clang-linux", "rv64", ("generic",), "generic"),
    Machine("riscv64-clang-linux", "rv64,v=true,vext_spec=v1.0,vlen=128", ("generic", "rvv"), "rvv"),
    Machine(
        "riscv64-clang-linux", "rv64,v=true,vext_spec=v1.0,vlen=256", ("generic", "rvv", "rvv256"), "rvv256"
    ),
    Machine("wasm32-wasi", "simd128", ("generic",), "generic"),
    Machine("wasm32-wasi-relaxed", "relaxed_simd", ("generic",), "generic"),
)


def environment() -> Path:
    """Returns the programs folder of a separate Python environment. It is created if it is not up to date."""
    wanted = (ROOT / "requirements/cross.txt").read_text()
    mark = CROSS / ".installed"
    if not mark.exists() or mark.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(CROSS)], check=True)
        pip: list[str | Path] = [
            CROSS / "bin/python",
            "-m",
            "pip",
            "install",
            "-q",
            "-r",
            ROOT / "requirements/cross.txt",
        ]
        subprocess.run(pip, check=True)
        mark.write_text(wanted)
    return CROSS / "bin"


def configure_and_build(name: str, jobs: int) -> Path:
    """Builds the tests for a toolchain, and returns their folder."""
    folder = ROOT / "build/cross" / name
    tools = Path(sys.executable).parent
    settings = {
        "CMAKE_MAKE_PROGRAM": tools / "ninja",
        "CMAKE_TOOLCHAIN_FILE": ROOT / f"runtime/cmake/toolchains/{name}.cmake",
        "RUSHLIGHT_ZIG": environment() / "python-zig",
        "RUSHLIGHT_BUILD_TESTS": "ON",
        "RUSHLIGHT_BUILD_CLI": "ON",
        "RUSHLIGHT_BUILD_KERNELS": "OFF",
    }
    if not (folder / "build.ninja").exists():
        command: list[str | Path] = [tools / "cmake", "-S", ROOT / "runtime", "-B", folder, "-G", "Ninja"]
        command += [f"-D{key}={value}" for key, value in settings.items()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tools / "ninja", f"-j{jobs}", "-C", folder, "--quiet", *NAMES], check=True)
    return folder


def emulator(machine: Machine) -> list[object]:
    """Returns the command that runs a program of the machine. Raises RuntimeError if it is not installed."""
    if machine.build.startswith("wasm32"):
        return [CROSS / "bin/python", ROOT / "scripts/wasm_run.py"]
    processor = machine.build.partition("-")[0]
    qemu = shutil.which(f"qemu-{processor}") or shutil.which(f"qemu-{processor}-static")
    if qemu is None:
        raise RuntimeError(f"no qemu-{processor}: scripts/system-packages cross installs it")
    return [qemu, "-cpu", machine.cpu, "-L", f"/usr/{processor}-linux-gnu"]


def emulated(machine: Machine, command: Sequence[object], where: Path) -> tuple[int, str]:
    """Runs a program of the machine in the folder `where`, and returns its exit status and output."""
    words = [str(word) for word in (*emulator(machine), *command)]
    environment = {**os.environ, "RUSHLIGHT_LOG": "info"}
    done = subprocess.run(
        words, cwd=where, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


def wrong_microkernels(machine: Machine, programs: Path) -> str | None:
    """Tests the microkernels, and returns a description of each failure."""
    tests = programs / "rushlight_microkernels_tests"
    _, listed = emulated(machine, [tests, "--gtest_list_tests"], programs)
    for name in machine.microkernels:
        if not any(line.strip().split("/")[-1].split(" ")[0] == name for line in listed.splitlines()):
            return f"the build has no test of the microkernels {name}"
    status, said = emulated(machine, [tests, "--gtest_brief=1"], programs)
    return None if status == 0 else f"exit status {status}\n{said}"


def wrong_program(machine: Machine, programs: Path, program: Path) -> str | None:
    """Runs a program, and returns a description of the error or None."""
    runner = programs / "executor_runner"
    status, said = emulated(machine, [runner, *arguments(program.name)], program.parent)
    want = [float(line) for line in program.with_suffix(".out").read_text().split()]
    wrong = f"exit status {status}" if status != 0 else check(program.name, said, want)
    return wrong and f"{wrong}\n{said}"


def main() -> int:
    """Runs all tests, and returns 0 if all results agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", action="append", help="a toolchain file to test; all by default")
    parser.add_argument("--compiler", action="store_true", help="print the path of Clang and stop")
    args = parser.parse_args()
    if args.compiler:
        print(environment() / "python-zig")
        return 0
    machines = [machine for machine in MACHINES if not args.build or machine.build in args.build]
    folders = {machine.build: configure_and_build(machine.build, args.jobs) for machine in machines}
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(args.jobs) as pool:
        folder = Path(name)
        targets = sorted({machine.target for machine in machines})
        subprocess.run([sys.executable, ROOT / "scripts/emulated_programs.py", folder, *targets], check=True)
        runs = []
        for machine in machines:
            programs = folders[machine.build]
            runs.append((machine, "microkernels", pool.submit(wrong_microkernels, machine, programs)))
            for program in sorted(folder.glob(f"*-{machine.target}.pte")):
                if program.stem.partition("-")[0] in LEFT_OUT:
                    continue
                run = pool.submit(wrong_program, machine, programs, program)
                runs.append((machine, program.stem, run))
        wrong = [(machine, what, said) for machine, what, run in runs if (said := run.result())]
    for machine, what, said in wrong:
        print(f"{machine.build} {machine.cpu}: {what}: {said}")
    for machine in machines:
        ran = [what for other, what, _ in runs if other is machine]
        failed = [what for other, what, _ in wrong if other is machine]
        text = f"wrong: {', '.join(failed)}" if failed else f"correct: {', '.join(ran)}"
        print(f"{machine.build:21}{machine.cpu:37}{'+'.join(machine.microkernels):32}{text}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
