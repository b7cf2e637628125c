"""Installs wheels of `dist` into fresh environments and runs programs with them: smoke.py WHEEL ...

The environments have only numpy, and no compiler is on the path. Each wheel is tested with each installed
Python that it supports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT
from wheels import interpreter

CODE = """
import sys
from pathlib import Path
import numpy as np
import rushlight
for path in sorted(Path(sys.argv[1]).glob("*.pte")):
    arrays = np.load(path.with_suffix(".npz"))
    data = sorted(str(file) for file in path.parent.glob(path.stem + "*.ptd"))
    module = rushlight.load(path, data_path=data or None)
    for call in range(1 + max(int(name.split(".")[0]) for name in arrays)):
        inputs = [arrays[name] for name in sorted(arrays) if name.startswith(f"{call}.input.")]
        result = module(*inputs)
        value = result[0] if isinstance(result, (tuple, list)) else result
        np.testing.assert_allclose(np.asarray(value), arrays[f"{call}.output.0"], rtol=1e-4, atol=1e-4)
print("rushlight", rushlight.__version__, "of", Path(rushlight.__file__).parent)
"""


def pythons(wheel: Path) -> list[str]:
    """Returns the releases of Python that a wheel supports."""
    tag = wheel.name.split("-")[2]
    release = f"3.{tag.removeprefix('cp3')}"
    return ["3.12", "3.13"] if wheel.name.split("-")[3] == "abi3" else [release]


def try_wheel(wheel: Path, python: str) -> None:
    """Fails if a program does not run or its results differ."""
    golden = max((ROOT / "tests/golden/programs").iterdir())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clean = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
        environment = {**clean, "PATH": str(folder / "bin")}
        subprocess.run([interpreter(python), "-m", "venv", folder], check=True)
        pip: list[str | Path] = [
            folder / "bin/python",
            "-m",
            "pip",
            "install",
            "-q",
            "--only-binary",
            ":all:",
            wheel,
        ]
        subprocess.run(pip, check=True, cwd=folder, env={**os.environ, "PATH": str(folder / "bin")})
        commands: list[list[object]] = [
            [folder / "bin/python", "-c", CODE, golden],
            [folder / "bin/executor_runner", "--model_path", golden / "image-xnnpack.pte"],
            [folder / "bin/rushlight", "config"],
        ]
        for command in commands:
            done = subprocess.run(
                [str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True
            )
            if done.returncode != 0:
                raise SystemExit(f"{wheel.name} with Python {python}:\n{done.stdout}{done.stderr}")
    print(f"{wheel.name}: programs run with Python {python}", flush=True)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        for release in pythons(Path(argument)):
            try_wheel(Path(argument).resolve(), release)
