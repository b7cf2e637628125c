"""`rushlight.compile`: modules, inputs, dynamic shapes, partitioners and options."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from rushlight.api import CompiledProgram, compile
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.emit.errors import EmitError
from rushlight.ir.errors import ExportError
from rushlight.runtime import Runtime


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x: torch.Tensor, scale: torch.Tensor | float = 1.0) -> torch.Tensor:
        return self.drop(self.linear(x)) * scale


def test_a_module_in_one_call(tmp_path: Path) -> None:
    net = Net().train()
    compiled = compile(net, (torch.randn(2, 4),))
    assert isinstance(compiled, CompiledProgram) and compiled.methods == {"forward"}
    assert net.training and net.drop.training
    compiled.save(tmp_path / "net.pte")
    assert (tmp_path / "net.pte").read_bytes() == compiled.buffer
    assert "forward" in repr(compiled)


def test_a_single_tensor_stands_for_a_tuple() -> None:
    x = torch.randn(2, 4)
    assert compile(Net(), x).buffer[4:8] == b"ET12"


def test_keyword_inputs_and_dynamic_shapes() -> None:
    batch = torch.export.Dim("batch", max=8)
    compiled = compile(
        Net(),
        (torch.randn(2, 4),),
        example_kwargs={"scale": 2.0},
        dynamic_shapes={"x": {0: batch}, "scale": None},
    )
    plan = compiled.manager.executorch_program.execution_plan[0]
    assert plan.values[plan.inputs[0]].val.sizes == [8, 4]  # type: ignore[union-attr]


def test_programs_are_taken_too() -> None:
    program = torch.export.export(Net().eval(), (torch.randn(2, 4),))
    assert compile({"a": program, "b": program}).methods == {"a", "b"}


def test_inputs_are_asked_for() -> None:
    with pytest.raises(ExportError, match="example_inputs are needed"):
        compile(Net())


def test_inputs_that_do_not_fit_forward() -> None:
    message = "forward of Net does not accept 0 positional and 0 keyword example inputs"
    with pytest.raises(ExportError, match=f"{message}: missing a required argument: 'x'"):
        compile(Net(), ())
    program = torch.export.export(Net().eval(), (torch.randn(2, 4),))
    with pytest.raises(ExportError, match="is exported already: give dynamic_shapes to torch.export.export"):
        compile(program, dynamic_shapes=({0: torch.export.Dim("batch", max=8)},))


@pytest.mark.parametrize("partitioner", ["cpu", CpuPartitioner, [CpuPartitioner]])
def test_what_is_no_partitioner_is_refused(partitioner: Any) -> None:
    with pytest.raises(TypeError, match=r"partitioner takes partitioners such as CpuPartitioner\(\), but"):
        compile(Net(), torch.randn(2, 4), partitioner=partitioner)


def test_settings_of_the_default_partitioner_work_or_are_refused() -> None:
    with pytest.raises(ValueError, match="is 'highest' or 'high', not 'medium'"):
        compile(Net(), torch.randn(2, 4), float32_matmul_precision="medium")  # type: ignore[arg-type]
    for setting in ({"float32_matmul_precision": "high"}, {"compact": True}, {"weights": torch.float16}):
        with pytest.raises(ValueError, match="give them to CpuPartitioner"):
            compile(Net(), torch.randn(2, 4), partitioner=(), **setting)


class Counting(torch.nn.Module):
    """Writes to its input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2


class Sorting(torch.nn.Module):
    """Uses its input in another shape, in an operator that no backend supports."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(-1).sort().values


@pytest.mark.parametrize(
    ("model", "is_copied"), [(Net().eval(), False), (Counting(), True), (Sorting(), True)]
)
def test_inputs_are_read_where_they_are_if_a_backend_alone_reads_them(model: Any, is_copied: Any) -> None:
    compiled = compile(model, (torch.zeros(2, 4),))
    plan = compiled.manager.executorch_program.execution_plan[0]
    assert (plan.values[plan.inputs[0]].val.allocation_info is not None) == is_copied  # type: ignore[union-attr]
    x = np.ones((2, 4), np.float32)
    x.setflags(write=False)
    given = (x, 1.0) if len(plan.inputs) > 1 else (x,)
    (out,) = Runtime.get().load_program(compiled.buffer).load_method("forward").execute(given)
    expected = model(torch.ones(2, 4)).detach()
    torch.testing.assert_close(torch.from_numpy(np.array(out)), expected)
    assert (x == 1).all()


def test_memory_for_inputs_is_planned_on_request_and_with_other_backends() -> None:
    config = ExecutorchBackendConfig()
    for options in ({"backend_config": config}, {"partitioner": ()}):
        plan = compile(Net(), torch.zeros(2, 4), **options).manager.executorch_program.execution_plan[0]
        assert plan.values[plan.inputs[0]].val.allocation_info is not None  # type: ignore[union-attr]


def test_several_modules_in_one_call() -> None:
    x, y = torch.randn(2, 4), torch.randn(3, 4)
    net = Net().eval()
    program = torch.export.export(net, (x,))
    batch = torch.export.Dim("batch", max=8)
    compiled = compile(
        {"a": net, "b": net, "c": program},
        {"a": (x,), "b": y},
        example_kwargs={"b": {"scale": 2.0}},
        dynamic_shapes={"a": ({0: batch},)},
    )
    module = rushlight.load(compiled)
    assert torch.allclose(module.a(y), net(y), atol=1e-6)
    assert torch.allclose(module.b(y, scale=2.0), net(y, 2.0), atol=1e-6)
    assert torch.allclose(module.c(x), net(x), atol=1e-6)
    with pytest.raises(ExportError, match="by method name"):
        compile({"a": net}, (x,))


def test_a_captured_graph_is_taken() -> None:
    """For example the result of convert_pt2e, whose mode cannot be set."""
    x = torch.randn(2, 4)
    captured = torch.export.export(Net().eval(), (x,)).module()
    with pytest.raises(NotImplementedError):
        captured.eval()
    assert torch.allclose(rushlight.load(compile(captured, (x,)))(x), captured(x), atol=1e-6)


def test_the_deprecated_option_exact_is_a_precision() -> None:
    model, inputs = torch.nn.Linear(256, 256), (torch.ones(64, 256),)
    for exact, precision in ((True, "highest"), (False, "high")):
        with pytest.warns(DeprecationWarning, match=f'use float32_matmul_precision="{precision}"'):
            named = rushlight.compile(model, inputs, exact=exact)
        assert named.buffer == rushlight.compile(model, inputs, float32_matmul_precision=precision).buffer  # type: ignore[arg-type]


def test_names_of_methods_that_do_not_exist() -> None:
    x = torch.randn(2, 4)
    batch = {"encoder": ({0: torch.export.Dim("n")}, None)}
    with pytest.raises(
        ExportError, match="dynamic_shapes has the method 'encoder', but the methods are 'enc'"
    ):
        compile({"enc": Net()}, {"enc": (x,)}, dynamic_shapes=batch)
    with pytest.raises(ExportError, match="example_inputs has the method 'dec'"):
        compile({"enc": Net()}, {"enc": (x,), "dec": (x,)})
    with pytest.raises(ExportError, match="example_inputs has no inputs of the method 'dec'"):
        compile({"enc": Net(), "dec": Net()}, {"enc": (x,)})


@pytest.mark.parametrize("option", ["digest", "generate_etrecord", "compact"])
def test_options_that_are_true_or_false(option: str) -> None:
    options: dict[str, Any] = {option: "no"}
    with pytest.raises(TypeError, match=f"{option} must be True or False, not 'no'"):
        compile(Net(), (torch.randn(2, 4),), **options)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("constant_methods", ["version"], "a dict from method name to value, not ['version']"),
        ("compile_config", {}, "an EdgeCompileConfig, not {}"),
        ("backend_config", {}, "an ExecutorchBackendConfig, not {}"),
    ],
)
def test_options_of_another_type(option: str, value: Any, expected: str) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(TypeError, match=re.escape(f"{option} must be {expected}")):
        compile(Net(), (torch.randn(2, 4),), **options)


def test_memories_and_numbers_of_another_type() -> None:
    memories: Any = ["sram"]
    with pytest.raises(TypeError, match="a memory is a Memory, such as .*, not 'sram'"):
        compile(Net(), (torch.randn(2, 4),), memories=memories)
    with pytest.raises(EmitError, match="constant 1180591620717411303424: integers have 64 bits"):
        compile(Net(), (torch.randn(2, 4),), constant_methods={"version": 2**70})


def test_constants_of_delegates_do_not_move_to_other_files() -> None:
    config = ExecutorchBackendConfig(external_constants=True)
    with pytest.warns(UserWarning, match="external_constants stores no constant in another file"):
        compile(Net(), (torch.randn(2, 4),), backend_config=config)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(Net(), (torch.randn(2, 4),), backend_config=config, partitioner=())


def test_a_compiled_program_does_not_run_itself() -> None:
    program = compile(Net(), (torch.randn(2, 4),))
    with pytest.raises(TypeError, match=r"must be loaded before it runs: rushlight.load\(program\)"):
        program(torch.randn(2, 4))


def test_numpy_arrays_are_no_inputs() -> None:
    with pytest.raises(ExportError, match="numpy array: convert it with torch.from_numpy"):
        compile(Net(), (np.zeros((2, 4), np.float32),))
