"""examples/custom_op: custom operators, compiled and run from Python, from C++ and with the runner."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.examples.support import EXAMPLES, python, run
from torch.export import Dim

import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.emit.errors import UnsupportedOperatorsError
from rushlight.target.kernel_table import host_kernel_table

EXAMPLE = EXAMPLES / "custom_op"
OPERATORS = ["sample::gate.out", "sample::blend.out", "sample::extent.out"]
RUNNER = Path(sys.executable).with_name("executor_runner")


@pytest.fixture(scope="module")
def sample() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        yield importlib.import_module("sample_ops")


@pytest.fixture(scope="module")
def program(sample: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the model for another machine: its kernels are declared, but not loaded."""
    config = ExecutorchBackendConfig(target=host_kernel_table().with_operators(OPERATORS))
    path = tmp_path_factory.mktemp("program") / "model.pte"
    rushlight.compile(
        sample.Model().eval(),
        (torch.randn(8, 4),),
        dynamic_shapes=({0: Dim("n", min=2, max=16)},),
        backend_config=config,
    ).save(path)
    return path


def test_from_python(build_example: Callable[[str], Path], tmp_path: Path) -> None:
    library = build_example("custom_op") / "libsample_ops.so"
    done = python(EXAMPLE / "run.py", str(library), str(tmp_path / "model.pte"), path=EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "sample: sample::blend.out, sample::extent.out, sample::gate.out"
    assert "64 rows" in done.stdout


def test_from_cpp(build_example: Callable[[str], Path], program: Path, sample: Any) -> None:
    done = run([str(build_example("custom_op") / "embed"), str(program)])
    expected = sample.Model()(torch.ones(16, 4)).flatten()
    torch.testing.assert_close(torch.tensor([float(line) for line in done.stdout.split()]), expected.detach())


def test_the_runner(build_example: Callable[[str], Path], program: Path) -> None:
    library = build_example("custom_op") / "libsample_ops.so"
    done = run([str(RUNNER), "--model_path", str(program), "--kernel_library", str(library)])
    assert "output 0: float32[16, 4]" in done.stdout
    without = subprocess.run([str(RUNNER), str(program)], capture_output=True, text=True)
    assert without.returncode == 1
    assert all(operator in without.stderr for operator in OPERATORS)


def test_the_command(build_example: Callable[[str], Path], program: Path) -> None:
    library = str(build_example("custom_op") / "libsample_ops.so")
    command = [sys.executable, "-m", "rushlight"]
    done = run([*command, "run", str(program), "--kernel-library", library])
    assert done.stdout.startswith("output 0: float32[16, 4]")
    rows = run([*command, "kernels", "--kernel-library", library, "--library", "sample"]).stdout.splitlines()
    assert rows == [f"{operator} float32" for operator in sorted(OPERATORS)]


def test_an_operator_without_a_kernel_is_refused_when_compiling(sample: Any) -> None:
    with pytest.raises(UnsupportedOperatorsError) as caught:
        rushlight.compile(sample.Model().eval(), (torch.randn(8, 4),))
    text = str(caught.value)
    assert all(operator in text for operator in OPERATORS)
    assert "sample_ops.py" in text and "torch.ops.sample.gate(x)" in text
    assert "load_library" in text and "with_operators(['sample::gate.out'])" in text


CALLS = """
import sys, torch, rushlight
from rushlight.runtime import call_kernel
rushlight.load_library(sys.argv[1])
out = torch.empty(2, 3)
x = torch.randn(2, 3)
print(call_kernel("sample::gate.out", [x, torch.zeros(3), 6.0, out], library="sample"))
torch.testing.assert_close(out, x * x.clamp(0, 6) / 6)
for arguments, text in (
    ([x, None, 0.0, out], "limit must be above 0, not 0"),
    ([x, torch.zeros(2), 1.0, out], "bias has 2 elements, not 3"),
    ([x.double(), None, 1.0, out], "does not support float64"),
):
    try:
        call_kernel("sample::gate.out", arguments)
        raise SystemExit("no error")
    except rushlight.RushlightError as error:
        assert text in str(error), error
"""


def test_messages_of_kernels_reach_the_caller(build_example: Callable[[str], Path]) -> None:
    done = python(CALLS, str(build_example("custom_op") / "libsample_ops.so"), path=EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[(2, 3)]\n"


DTYPE = """
import sys, torch, rushlight
rushlight.load_library(sys.argv[1])
from sample_ops import Model
rushlight.compile(Model().double(), (torch.randn(8, 4).double(),))
"""


def test_a_dtype_that_its_kernel_lacks_is_refused_when_compiling(
    build_example: Callable[[str], Path],
) -> None:
    done = python(DTYPE, str(build_example("custom_op") / "libsample_ops.so"), path=EXAMPLE)
    assert "UnsupportedOperatorsError" in done.stderr
    assert "sample::gate.out" in done.stderr and "cast to one of float32" in done.stderr
