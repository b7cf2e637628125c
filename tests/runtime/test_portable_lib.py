"""The names of ExecuTorch's portable_lib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from rushlight.runtime import portable_lib
from rushlight.runtime.errors import (
    InvalidArgumentError,
    InvalidStateError,
    InvalidTypeError,
    NotFoundError,
)

Build = Callable[..., bytes]


@pytest.fixture
def path(add_program: Build, tmp_path: Path) -> str:
    file = tmp_path / "add.pte"
    file.write_bytes(add_program(1))
    return str(file)


ONE = torch.ones(1)


def test_module(path: str, add_program: Build) -> None:
    for module in (
        portable_lib._load_for_executorch(path),
        portable_lib._load_for_executorch_from_buffer(add_program(1)),
    ):
        assert module.method_names() == ["forward"]
        assert module.forward([ONE, ONE]) == [torch.tensor([2.0])]
        assert module((ONE, ONE), clone_outputs=False) == [torch.tensor([2.0])]
        assert module.run_method("forward", [ONE, 2 * ONE]) == [torch.tensor([3.0])]
        assert module.plan_execute("forward") == [torch.tensor([3.0])]
        assert module.method_meta("forward").num_inputs() == 2
        assert not module.has_etdump()
        with pytest.raises(NotFoundError, match="'absent'"):
            module.run_method("absent", [])
        with pytest.raises(RuntimeError, match="takes 2 inputs"):
            module.forward(ONE)  # type: ignore[arg-type]


def test_program_and_method(path: str, add_program: Build) -> None:
    for program in (
        portable_lib._load_program(path),
        portable_lib._load_program_from_buffer(add_program(1)),
    ):
        assert (program.num_methods(), program.get_method_name(0)) == (1, "forward")
        assert program.method_meta("forward").name() == "forward"
        method = program.load_method("forward")
        with pytest.raises(InvalidStateError, match="'forward' has not been executed"):
            method.get_outputs()
        method.set_inputs([ONE, ONE])
        method.execute()
        assert method.get_outputs() == [torch.tensor([2.0])]
        with pytest.raises(InvalidTypeError, match="input 0 takes .*it is on device meta"):
            method.set_inputs([ONE.to("meta"), ONE])
        with pytest.raises(InvalidArgumentError, match="takes 2 inputs, but 1 is given"):
            method.set_inputs([ONE])
        method.execute()  # after refused inputs, the earlier inputs are kept
        assert method.get_outputs() == [torch.tensor([2.0])]
        changed = torch.ones(1)
        method.set_inputs([changed, changed])
        changed += 1  # The inputs are in planned memory, so that set_inputs has copied them.
        method.execute()
        assert method.get_outputs() == [torch.tensor([2.0])]
        assert method([ONE, 4 * ONE]) == method.call([4 * ONE, ONE])
        assert method.method_meta().num_outputs() == 1
        with pytest.raises(NotFoundError, match="'absent'"):
            method.get_attribute("absent")


def test_registries_and_threads() -> None:
    assert "aten::add.out" in portable_lib._get_operator_names()
    assert portable_lib._get_registered_backend_names() is not None
    assert not portable_lib._is_available("NoSuchBackend")
    before = portable_lib._threadpool_get_thread_count()
    portable_lib._unsafe_reset_threadpool(before + 1)
    assert portable_lib._threadpool_get_thread_count() == before + 1
    portable_lib._unsafe_reset_threadpool(before)


def test_the_former_profiler_has_no_results() -> None:
    portable_lib._create_profile_block("block")
    assert portable_lib._dump_profile_results() == b""
    portable_lib._reset_profile_results()
