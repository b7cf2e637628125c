"""`method.py`, `method_values.py` and `program.py`: signatures, control flow, state, methods, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.aot_c.harness import Library, check, compile_library, compilers, needs_targets
from tests.aot_c.one_call import CallProgram
from tests.emit.cases import CASES as EMIT_CASES
from tests.programs import CASES
from torch import nn
from torch.utils import _pytree as pytree

import rushlight
from rushlight.aot_c.errors import AotCError
from rushlight.aot_c.program import c_program
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.exir import to_edge
from rushlight.format.pte import read_pte, write_pte
from rushlight.memory.planning_pass import MemoryPlanningPass

REFUSED = {
    "dynamic_batch": "input x: the shape of a float32 tensor is dynamic, at most [16, 4]",
    "dynamic_sequence": "the shape of a int64 tensor is dynamic",
    "data_dependent": "aten::nonzero.out",
    "item": "the shape of a float32 tensor is dynamic",
}
QUICK = ("scalars", "passthrough", "complex_slices", "lstm")
STATIC = [name for name, (_, _, dynamic) in EMIT_CASES.items() if dynamic is None and name != "found"]


def compiled(module: Any, inputs: Any, **kwargs: Any) -> bytes:
    return bytes(rushlight.compile(module, inputs, partitioner=(), **kwargs).buffer)


@pytest.mark.parametrize("name", STATIC)
def test_control_flow_and_state(name: str, tmp_path: Path) -> None:
    """Branches, loops, maps, scans and mutable buffers have the correct results in three runs."""
    make, inputs, _ = EMIT_CASES[name]
    program = torch.export.export(make().eval(), inputs, strict=False)
    changed = [x * -1 if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]
    compiler = list(compilers())[len(name) % len(compilers())]
    runs = [list(inputs), changed, list(inputs)]
    check(compiled(program, None), runs, tmp_path, names=(compiler,), flags=("-O1",))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [needs_targets])
        for name in CASES
        if name not in REFUSED
    ],
)
def test_programs(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    flat = pytree.tree_leaves((case.inputs(), case.kwargs))
    compiler = list(compilers())[len(name) % len(compilers())]
    check(compiled(case.export(), None), [flat, flat], tmp_path, names=(compiler,), flags=("-O1",))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_c_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(AotCError) as error:
        c_program(compiled(CASES[name].export(), None), "model", "model.pte")
    assert "model.pte cannot be written as C" in str(error.value)
    assert REFUSED[name] in str(error.value)


def test_refusals_name_the_line_of_the_model() -> None:
    class Places(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nonzero(x)

    exported = torch.export.export(Places(), (torch.zeros(4),), strict=False)
    config = ExecutorchBackendConfig(emit_stacktrace=True)
    data = bytes(to_edge(exported).to_executorch(config).buffer)
    with pytest.raises(AotCError) as error:
        c_program(data, "model")
    assert "aten::nonzero.out" in str(error.value)
    assert "test_method.py:" in str(error.value)


def test_delegates_are_refused() -> None:
    data = bytes(rushlight.compile(nn.Linear(4, 4).eval(), (torch.zeros(1, 4),)).buffer)
    with pytest.raises(AotCError, match="made for CpuBackend; compile it without a backend"):
        c_program(data, "model")


def test_all_refusals_are_reported() -> None:
    program = CallProgram()
    for _ in range(2):
        program.add("aten::rand_like.out", [torch.zeros(3)], [torch.zeros(3)])
    with pytest.raises(AotCError) as error:
        c_program(program.bytes(), "model")
    assert str(error.value).count("there is no C for this operator") == 2


def test_names_that_c_does_not_have_are_refused() -> None:
    program = CallProgram()
    program.add("aten::relu.out", [torch.zeros(3)], [torch.zeros(3)])
    for name in ("1st", "int", "a-b", ""):
        with pytest.raises(AotCError, match="not a name that C programs may use"):
            c_program(program.bytes(), name)


def test_an_index_out_of_range_is_an_error(tmp_path: Path) -> None:
    program = CallProgram()
    index = torch.tensor([0, 2])
    program.add("aten::embedding.out", [torch.ones(3, 2), index, -1, False, False], [torch.zeros(2, 2)])
    program.add("aten::floor_divide.out", [torch.ones(2).int(), torch.ones(2).int()], [torch.zeros(2).int()])
    text = c_program(program.bytes(), "model")
    library = Library(compile_library(text, "model", tmp_path, "gcc"), text)
    assert library("call_0", torch.ones(3, 2), index)[0].tolist() == [[1, 1], [1, 1]]
    for bad in (3, -1, 2**40):
        with pytest.raises(RuntimeError, match="model_call_0 returned 1"):
            library("call_0", torch.ones(3, 2), torch.tensor([0, bad]))
    with pytest.raises(RuntimeError, match="model_call_1 returned 1"):
        library("call_1", torch.ones(2).int(), torch.zeros(2).int())


class Counter(nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([3.0, 4.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total * 2


def test_reset_restores_the_state(tmp_path: Path) -> None:
    text = c_program(compiled(Counter(), (torch.ones(2),)), "model")
    assert "void model_reset(void);" in text.files["model.h"]
    library = Library(compile_library(text, "model", tmp_path, "gcc"), text)
    results = [library("forward", torch.ones(2))[0].tolist() for _ in range(2)]
    library.library.model_reset()
    results.append(library("forward", torch.ones(2))[0].tolist())
    assert results == [[8, 10], [10, 12], [8, 10]]


def test_methods_share_state_by_name(tmp_path: Path) -> None:
    methods = {
        name: torch.export.export(Counter(), (torch.ones(2),), strict=False) for name in ("first", "second")
    }
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    text = c_program(bytes(to_edge(methods).to_executorch(config).buffer), "model")
    library = Library(compile_library(text, "model", tmp_path, "gcc"), text)
    results = [library(name, torch.ones(2))[0].tolist() for name in ("first", "second", "first")]
    assert results == [[8, 10], [10, 12], [12, 14]]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("forward", "reset"), "model_reset; model_reset sets the state to its initial values, so rename"),
        (("part", "Part"), "model_Part, model_part; use another --name"),
        (("a.b", "a_b"), "model_a_b; use another --name"),
    ],
)
def test_functions_of_one_name_are_refused(names: tuple[str, str], message: str) -> None:
    methods = {name: torch.export.export(Counter(), (torch.ones(2),), strict=False) for name in names}
    data = bytes(to_edge(methods).to_executorch().buffer)
    with pytest.raises(AotCError, match=f"two functions have the same name in C: {message}"):
        c_program(data, "model")


def test_names_do_not_end_comments(tmp_path: Path) -> None:
    file = read_pte(compiled(Counter(), (torch.ones(2),)))
    file.program.execution_plan[0].name = "for*/ward\n"
    text = c_program(write_pte(file), "model", "a */\nprogram")
    compile_library(text, "model", tmp_path, "gcc")


def test_the_header_describes_the_method() -> None:
    class Scaled(nn.Module):
        def forward(self, image: torch.Tensor, factor: int) -> torch.Tensor:
            return image * factor

    text = c_program(compiled(Scaled(), (torch.zeros(2, 3), 3)), "scaled").files
    header = text["scaled.h"]
    assert "in0: image, float32[2, 3]" in header
    assert "#define SCALED_FORWARD_IN0_SIZE 6" in header
    assert "int scaled_forward(const float *in0, int64_t in1, float *out);" in header
    assert "in1: factor, a number, which must equal the number that was used at export" in header
    assert "malloc" not in text["scaled.c"]


def test_equal_calls_share_a_function() -> None:
    module = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(5))).eval()
    text = c_program(compiled(module, (torch.zeros(1, 4),)), "model").files["model.c"]
    assert text.count("static void addmm_") == 1
    assert text.count("  addmm_0(") == 5


def test_results_are_written_where_the_caller_has_them() -> None:
    """The only kernel reads the input and writes the output of the caller. There is no planned memory."""
    text = c_program(compiled(nn.Linear(4, 4).eval(), (torch.zeros(1, 4),)), "model")
    assert text.memory_bytes == 0
    assert "memcpy" not in text.files["model.c"]


class BranchesWithoutElements(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: -a, (x[:, :0],))
        return y


def test_results_without_elements_of_branches_compile_without_warnings(tmp_path: Path) -> None:
    x = torch.ones(2, 3)
    program = rushlight.compile(BranchesWithoutElements(), (x,), partitioner=())
    check(program.buffer, [[x], [-x]], tmp_path)


class EmptyConstant(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(0, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x[:, :0]) @ self.weight + 1


def test_a_constant_without_elements_is_an_array(tmp_path: Path) -> None:
    x = torch.ones(2, 3)
    program = rushlight.compile(EmptyConstant(), (x,), partitioner=())
    check(program.buffer, [[x]], tmp_path)
