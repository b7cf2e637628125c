"""Bundled programs in Python and in executor_runner."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.devtools.bundled_program import (
    BundledProgram,
    MethodTestCase,
    MethodTestSuite,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.devtools.etdump import deserialize_from_etdump_flatcc
from rushlight.runtime import BundledModule, portable_lib
from rushlight.runtime.errors import (
    InvalidArgumentError,
    InvalidProgramError,
    InvalidStateError,
    NotFoundError,
)

RUNNER = Path(sys.executable).with_name("executor_runner")
GOLDEN = Path(__file__).parents[1] / "golden" / "devtools" / "add.bpte"
X, Y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
# A correct sum, a sum with a wrong last element, and inputs without expected outputs.
CASES = [
    MethodTestCase((X, Y), [X + Y]),
    MethodTestCase((X, X), [torch.tensor([2.0, 4.5])]),
    MethodTestCase((Y, Y)),
]


@pytest.fixture(scope="module")
def program(add_program: Callable[..., bytes]) -> bytes:
    return add_program(2)


@pytest.fixture(scope="module")
def bundle(program: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("bundle") / "add.pte"
    path.write_bytes(program)
    bundled = BundledProgram(None, [MethodTestSuite("forward", CASES)], pte_file_path=str(path))
    return serialize_from_bundled_program_to_flatbuffer(bundled)


def test_bytes_are_those_of_the_golden_file(bundle: bytes) -> None:
    if os.environ.get("RUSHLIGHT_UPDATE_GOLDEN") == "1":
        GOLDEN.write_bytes(bundle)
    assert bundle == GOLDEN.read_bytes()


def test_test_cases_run(bundle: bytes, program: bytes) -> None:
    module = BundledModule(bundle)
    assert module.program == program and module.method_names == ["forward"]
    assert module.num_test_cases("forward") == 3
    assert torch.equal(module.inputs("forward", 0)[1], Y)
    assert torch.equal(module.expected_outputs("forward", 0)[0], X + Y)
    assert module.expected_outputs("forward", 2) == []
    first, second = (module.execute("forward", index)[0] for index in (0, 2))
    assert torch.equal(first, X + Y) and torch.equal(second, Y + Y)  # the first result keeps its memory


def test_outputs_are_compared(bundle: bytes) -> None:
    module = BundledModule(bundle)
    (output,) = module.verify_result_with_bundled_expected_output("forward", 0)
    assert torch.equal(output, X + Y)
    with pytest.raises(InvalidStateError, match=r"1 of 2 elements.*expected 4\.5"):
        module.verify_result_with_bundled_expected_output("forward", 1)
    module.verify_result_with_bundled_expected_output("forward", 1, atol=0.5)
    module.verify_result_with_bundled_expected_output("forward", 1, rtol=0.2)
    with pytest.raises(NotFoundError):
        module.verify_result_with_bundled_expected_output("forward", 2)


def test_sources(bundle: bytes, tmp_path: Path) -> None:
    path = tmp_path / "add.bpte"
    path.write_bytes(bundle)
    for source in (path, str(path), bytearray(bundle), memoryview(b" " + bundle)[1:], io.BytesIO(bundle)):
        assert BundledModule(source).num_test_cases("forward") == 3
    with pytest.raises(TypeError, match="not int"):
        BundledModule(3)  # type: ignore[arg-type]
    path.write_bytes(bundle[:100])
    for name in (path, str(path)):
        with pytest.raises(InvalidProgramError, match=r"add\.bpte'"):
            BundledModule(name)
    path.write_text("text")
    with path.open(encoding="utf-8") as file, pytest.raises(TypeError, match="binary mode: it reads str"):
        BundledModule(file)  # type: ignore[arg-type]


def test_wrong_use(bundle: bytes, program: bytes) -> None:
    module = BundledModule(bundle)
    with pytest.raises(InvalidArgumentError, match="no test case 3 of method 'forward'"):
        module.execute("forward", 3)
    for run in (
        module.execute,
        module.inputs,
        module.expected_outputs,
        module.verify_result_with_bundled_expected_output,
    ):
        with pytest.raises(InvalidArgumentError, match="no test case -1: the first one is 0"):
            run("forward", -1)
    with pytest.raises(NotFoundError, match="'encode'"):
        module.num_test_cases("encode")
    with pytest.raises(InvalidProgramError, match="file identifier"):
        BundledModule(program)
    with pytest.raises(InvalidProgramError):
        BundledModule(b"")


@pytest.mark.damage
def test_every_damaged_byte_is_an_error_or_harmless(bundle: bytes) -> None:
    for position in range(len(bundle)):
        damaged = bytearray(bundle)
        damaged[position] ^= 0xFF
        try:
            BundledModule(damaged).verify_result_with_bundled_expected_output("forward", 0)
        except RuntimeError as error:
            assert str(error)


def test_names_of_portable_lib(bundle: bytes, tmp_path: Path) -> None:
    loaded = portable_lib._load_bundled_program_from_buffer(bundle)
    assert isinstance(loaded, portable_lib.BundledModule)
    assert torch.equal(loaded.verify_result_with_bundled_expected_output("forward", 0)[0], X + Y)
    module = portable_lib._load_for_executorch_from_bundled_program(loaded, enable_etdump=True)
    assert torch.equal(module.forward([X, X])[0], X + X)
    module.write_etdump_result_to_file(str(tmp_path / "model.etdp"))
    assert len(deserialize_from_etdump_flatcc((tmp_path / "model.etdp").read_bytes()).run_data) == 2


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([RUNNER, *options], capture_output=True, text=True)


@pytest.fixture
def file(bundle: bytes, tmp_path: Path) -> str:
    path = tmp_path / "add.bpte"
    path.write_bytes(bundle)
    return str(path)


@pytest.mark.parametrize("option", ["--bundled_program_path", "--model_path"])
def test_the_runner_verifies_test_cases(option: str, file: str) -> None:
    done = run(option, file, "--testset_idx", "0", "--print_output", "all")
    assert done.returncode == 0, done.stderr
    assert "float32[2] {4, 6}" in done.stdout
    assert "test case 0: the outputs are as expected (rtol 1e-05, atol 1e-08)" in done.stdout
    assert "test case 1" not in done.stdout


def test_the_runner_names_the_element_that_differs(file: str) -> None:
    done = run("--bundled_program_path", file)
    assert done.returncode == 1
    assert "test case 0: the outputs are as expected" in done.stdout
    assert "output 0 of method 'forward' differs from test case 1: 1 of 2 elements" in done.stderr
    assert "test case 2 of method 'forward' has no expected outputs" in done.stderr
    assert "InvalidState: 2 of 3 test cases do not have the expected outputs" in done.stderr
    for tolerance in ("--atol=0.5", "--rtol=0.2"):
        done = run("--bundled_program_path", file, "--testset_idx", "1", tolerance)
        assert done.returncode == 0, done.stderr
    assert "rtol 0.2" in done.stdout


def test_the_runner_runs_without_verification(file: str, tmp_path: Path) -> None:
    done = run("--bundled_program_path", file, "--testset_idx", "2")
    assert done.returncode == 1 and "test case 2 of method 'forward' has no expected outputs" in done.stderr
    dump, values = tmp_path / "model.etdp", tmp_path / "values.bin"
    traced = ("--etdump_path", str(dump), "--debug_output_path", str(values))
    done = run("--bundled_program_path", file, "--output_verification", "false", *traced)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("test case") == 3 and "as expected" not in done.stdout
    runs = deserialize_from_etdump_flatcc(dump.read_bytes()).run_data
    assert [run.bundled_input_index for run in runs] == [-1, 0, 1, 2]
    assert values.stat().st_size > 0


def test_inputs_replace_test_cases_in_the_runner(file: str, tmp_path: Path) -> None:
    elements = tmp_path / "x.bin"
    elements.write_bytes(X.numpy().tobytes())
    done = run("--bundled_program_path", file, f"--inputs={elements},{elements}")
    assert done.returncode == 0 and "{2, 4}" in done.stdout and "test case" not in done.stdout


def test_wrong_options_of_the_runner(file: str, program: bytes, tmp_path: Path) -> None:
    done = run("--bundled_program_path", file, "--testset_idx", "3")
    assert done.returncode == 1 and "there is no test case 3" in done.stderr
    plain = tmp_path / "add.pte"
    plain.write_bytes(program)
    done = run("--model_path", str(plain), "--testset_idx", "0")
    assert done.returncode == 1 and "--testset_idx needs a bundled program" in done.stderr
    done = run("--bundled_program_path", str(plain))
    assert done.returncode == 1 and f"'{plain}' is not a bundled program" in done.stderr
    for option, value, message in (
        ("--testset_idx", "-1", "takes a number that is at least 0"),
        ("--rtol", "x", "takes a number that is not negative"),
        ("--output_verification", "maybe", "takes true or false"),
    ):
        done = run("--bundled_program_path", file, option, value)
        assert done.returncode == 2 and message in done.stderr
    done = run("--bundled_program_path", str(tmp_path / "absent.bpte"))
    assert done.returncode == 1 and "absent.bpte" in done.stderr
    cut = tmp_path / "cut.bpte"
    cut.write_bytes(Path(file).read_bytes()[:40])
    assert run("--bundled_program_path", str(cut)).returncode == 1


def test_a_bundled_program_is_not_loaded_as_a_program(bundle: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bundle.bpte"
    path.write_bytes(bundle)
    for source in (path, str(path), bundle, bytearray(bundle), memoryview(bundle), io.BytesIO(bundle)):
        with pytest.raises(InvalidProgramError, match="bundled program.*rushlight.runtime.BundledModule"):
            rushlight.load(source)
