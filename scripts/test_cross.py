"""Tests of the tiles and whole programs on emulated processors of other kinds: `make cross`.

Every build has its toolchain file; QEMU runs it once for each processor of the table, whose tile sets must
be among those tested. Results of programs are compared with those of this machine.
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
NAMES = ("rushlight_tiles_tests", "executor_runner")
# Programs that need kernels, which these builds leave out.
LEFT_OUT = ("block_int4",)


@dataclass(frozen=True)
class Machine:
    """A processor. cpu: QEMU's name. tiles: the sets that tests must find; target: plans are made for it."""

    build: str
    cpu: str
    tiles: Sequence[str]
    target: str


MACHINES = (
    Machine("aarch64", "cortex-a53", ("neon",), "neon"),
    Machine("aarch64", "neoverse-n1", ("neon", "neon_dotprod"), "neon"),
    Machine("aarch64", "max", ("neon", "neon_dotprod", "neon_i8mm"), "neon"),
    Machine("riscv64", "rv64", ("generic",), "generic"),
)


def configure_and_build(name: str, jobs: int) -> Path:
    """The folder of the programs built for a toolchain."""
    folder = ROOT / "build/cross" / name
    tools = Path(sys.executable).parent
    settings = {
        "CMAKE_MAKE_PROGRAM": tools / "ninja",
        "CMAKE_TOOLCHAIN_FILE": ROOT / f"runtime/cmake/toolchains/{name}-linux.cmake",
        "RUSHLIGHT_BUILD_TESTS": "ON",
        "RUSHLIGHT_BUILD_CLI": "ON",
        "RUSHLIGHT_BUILD_KERNELS": "OFF",
    }
    if not (folder / "build.ninja").exists():
        command = [tools / "cmake", "-S", ROOT / "runtime", "-B", folder, "-G", "Ninja"]
        command += [f"-D{key}={value}" for key, value in settings.items()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tools / "ninja", f"-j{jobs}", "-C", folder, "--quiet", *NAMES], check=True)
    return folder


def emulated(machine: Machine, command: Sequence[object], where: Path) -> tuple[int, str]:
    """Exit status and output of a program built for the machine, run in the folder `where`."""
    qemu = shutil.which(f"qemu-{machine.build}") or shutil.which(f"qemu-{machine.build}-static")
    if qemu is None:
        raise RuntimeError(f"no qemu-{machine.build}: scripts/system-packages cross installs it")
    prefix = [qemu, "-cpu", machine.cpu, "-L", f"/usr/{machine.build}-linux-gnu"]
    words = [str(word) for word in (*prefix, *command)]
    environment = {**os.environ, "RUSHLIGHT_LOG": "info"}
    done = subprocess.run(
        words, cwd=where, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


def wrong_tiles(machine: Machine, programs: Path) -> str | None:
    """What fails of the tests of tiles."""
    tests = programs / "rushlight_tiles_tests"
    _, listed = emulated(machine, [tests, "--gtest_list_tests"], programs)
    for name in machine.tiles:
        if not any(line.strip().split("/")[-1].split(" ")[0] == name for line in listed.splitlines()):
            return f"no test of the tiles {name}"
    status, said = emulated(machine, [tests, "--gtest_brief=1"], programs)
    return None if status == 0 else f"exit status {status}\n{said}"


def wrong_program(machine: Machine, programs: Path, program: Path) -> str | None:
    """What is wrong with the results of a program."""
    runner = programs / "executor_runner"
    status, said = emulated(machine, [runner, *arguments(program.name)], program.parent)
    want = [float(line) for line in program.with_suffix(".out").read_text().split()]
    wrong = f"exit status {status}" if status != 0 else check(program.name, said, want)
    return wrong and f"{wrong}\n{said}"


def main() -> int:
    """0 where all agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", action="append", help="of which to test; all by default")
    args = parser.parse_args()
    machines = [machine for machine in MACHINES if not args.build or machine.build in args.build]
    folders = {machine.build: configure_and_build(machine.build, args.jobs) for machine in machines}
    bad = False
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(args.jobs) as pool:
        folder = Path(name)
        targets = sorted({machine.target for machine in machines})
        subprocess.run([sys.executable, ROOT / "scripts/emulated_programs.py", folder, *targets], check=True)
        runs = []
        for machine in machines:
            programs = folders[machine.build]
            runs.append((machine, "tiles", pool.submit(wrong_tiles, machine, programs)))
            for program in sorted(folder.glob(f"*-{machine.target}.pte")):
                if program.stem.partition("-")[0] in LEFT_OUT:
                    continue
                run = pool.submit(wrong_program, machine, programs, program)
                runs.append((machine, program.stem, run))
        for machine, what, run in runs:
            wrong = run.result()
            print(f"{machine.build} {machine.cpu}: {what}: {wrong or 'as here'}", flush=True)
            bad = bad or wrong is not None
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
