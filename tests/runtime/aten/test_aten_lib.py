"""The names of ExecuTorch's aten_lib."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from rushlight.devtools.bundled_program import (
    BundledProgram,
    MethodTestCase,
    MethodTestSuite,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.runtime import aten_lib
from rushlight.runtime.errors import InvalidStateError, NotFoundError, NotSupportedError

ONE = torch.ones(1)


@pytest.fixture
def path(add_program: Callable[..., bytes], tmp_path: Path) -> str:
    file = tmp_path / "add.pte"
    file.write_bytes(add_program(1))
    return str(file)


def test_module(path: str) -> None:
    for module in (
        aten_lib._load_for_executorch(path),
        aten_lib._load_for_executorch_from_buffer(Path(path).read_bytes()),
    ):
        assert module.method_names() == ["forward"]
        assert module.forward([ONE, ONE]) == [torch.tensor([2.0])]
        assert module.plan_execute("forward") == [torch.tensor([2.0])]
        with pytest.raises(NotFoundError, match="'absent'"):
            module.run_method("absent", [])


def test_program(path: str) -> None:
    for program in (
        aten_lib._load_program(path),
        aten_lib._load_program_from_buffer(Path(path).read_bytes()),
    ):
        method = program.load_method(program.get_method_name(0))
        assert method.call([ONE, 2 * ONE]) == [torch.tensor([3.0])]
        assert method.method_meta().num_inputs() == 2


def test_operators_are_torchs(path: str) -> None:
    assert {"aten::add.out", "aten::linalg_eig"} <= set(aten_lib._get_operator_names())
    with pytest.raises(NotSupportedError, match="hook"):
        aten_lib._load_for_executorch(path, enable_etdump=True)


def test_bundled_program(add_program: Callable[..., bytes]) -> None:
    data = bundle(add_program(1), [([ONE, ONE], [2 * ONE]), ([ONE, ONE], [3 * ONE]), ([ONE, ONE], [])])
    module = aten_lib._load_bundled_program_from_buffer(data)
    assert module.execute("forward", 0) == [2 * ONE]
    assert module.verify_result_with_bundled_expected_output("forward", 0) == [2 * ONE]
    assert module.verify_result_with_bundled_expected_output("forward", 1, atol=1.0) == [2 * ONE]
    with pytest.raises(InvalidStateError, match=r"output 0 of test case 1 .*: element 0 is 2.0, and 3.0"):
        module.verify_result_with_bundled_expected_output("forward", 1)
    with pytest.raises(NotFoundError, match="test case 2 .* has no expected outputs"):
        module.verify_result_with_bundled_expected_output("forward", 2)
    loaded = aten_lib._load_for_executorch_from_bundled_program(module)
    assert loaded.forward([ONE, ONE]) == [2 * ONE]


def bundle(program: bytes, cases: list[tuple[list[torch.Tensor], list[torch.Tensor]]]) -> bytes:
    holder = types.SimpleNamespace(buffer=program)
    suites = [MethodTestSuite("forward", [MethodTestCase(given, wanted) for given, wanted in cases])]
    return serialize_from_bundled_program_to_flatbuffer(BundledProgram(holder, suites))
