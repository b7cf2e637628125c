"""Tests microkernels and whole programs on an emulated PC with AVX-512: `make avx512`.

Programs are compiled for avx2 and for avx512. Their results are compared with those of this machine. The
emulated processor has no VNNI, because Debian's kernel does not boot on the processors of Bochs 2.7 that have
it, and no bfloat16. The tests emulate the instructions vpdpbusd and vdpbf16ps.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from emulated_pc import run
from program_results import arguments, check

ROOT = Path(__file__).resolve().parent.parent
TESTS = "*avx512*:*avxvnni*"


def main() -> int:
    """Runs all tests, and returns 0 if all results agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build/dev/runtime", help="the folder of the programs"
    )
    parser.add_argument(
        "--model", default="corei7_skylake_x", help="a processor of the list of `bochs --help cpu`"
    )
    parser.add_argument("--tests", default=TESTS, help="filter of GoogleTest")
    parser.add_argument("--minutes", type=float, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            [sys.executable, ROOT / "scripts/emulated_programs.py", folder, "avx2", "avx512"], check=True
        )
        tools = [args.build / name for name in ("executor_runner", "rushlight_microkernels_tests")]
        files = [*tools, *folder.iterdir()]
        programs = sorted(folder.glob("*.pte"))
        commands = [f"./rushlight_microkernels_tests --gtest_brief=1 --gtest_filter='{args.tests}'"]
        commands += [
            f"RUSHLIGHT_LOG=info ./executor_runner {' '.join(arguments(program.name))}"
            for program in programs
        ]
        emulator = ROOT / "build/emulator"
        emulator.mkdir(parents=True, exist_ok=True)
        (status, said), *runs = run(emulator, files, commands, model=args.model, minutes=args.minutes)
        print(said)
        bad = status != 0
        for program, (status, said) in zip(programs, runs, strict=True):
            want = [float(line) for line in program.with_suffix(".out").read_text().split()]
            wrong = f"exit status {status}" if status != 0 else check(program.name, said, want)
            if not wrong and ("runs on avx512" in said) != program.stem.endswith("avx2"):
                wrong = "the log contains another instruction set"
            print(f"{program.stem}: {wrong or 'as here'}")
            if wrong:
                print(said)
            bad = bad or wrong is not None
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
