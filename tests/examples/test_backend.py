"""examples/backend: a custom backend, from the partitioner to programs that load or link it."""

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
from torch import nn

from rushlight.compiler.to_backend import to_backend
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.runtime import Runtime, RushlightError
from rushlight.runtime.errors import BackendMissingWarning, NotFoundError

EXAMPLE = EXAMPLES / "backend"
RUNNER = Path(sys.executable).with_name("executor_runner")


@pytest.fixture(scope="module")
def stack() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        yield importlib.import_module("stack")


class _Mixed(nn.Module):
    """Two parts of the backend, with an unsupported operator between them."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        inner = (x + y) * x - y
        return torch.exp(inner) * inner + y


class _Pure(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y) * x - y


INPUTS = (torch.randn(3, 4), torch.randn(3, 4))


@pytest.fixture(scope="module")
def mixed(stack: Any) -> Any:
    partitioner = stack.StackPartitioner()
    edge = to_edge_transform_and_lower(torch.export.export(_Mixed(), INPUTS), partitioner=[partitioner])
    return edge, partitioner


@pytest.fixture(scope="module")
def mixed_file(mixed: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("program") / "model.pte"
    mixed[0].to_executorch().save(path)
    return path


def test_parts_around_what_it_lacks(mixed: Any) -> None:
    edge, partitioner = mixed
    graph_module = edge.exported_program().graph_module
    assert len(get_lowered_backend_modules(graph_module)) == 2
    left = get_non_lowered_nodes(graph_module.graph)
    assert [str(node.target._op) for node in left] == ["aten.exp.default"]  # type: ignore[union-attr]
    # In Python, a lowered module runs the program from which it was lowered.
    torch.testing.assert_close(edge.exported_program().module()(*INPUTS), _Mixed()(*INPUTS))
    table = partitioner.reporter.get_table_report().splitlines()
    assert "aten.exp.default" in table[2] and "test_backend.py:" in table[2] and "supports only" in table[2]
    assert len(table) == 3


def test_several_partitioners_in_order(stack: Any) -> None:
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner

    edge = to_edge_transform_and_lower(
        torch.export.export(_Mixed(), INPUTS), partitioner=[stack.StackPartitioner(), XnnpackPartitioner()]
    )
    lowered = get_lowered_backend_modules(edge.exported_program().graph_module)
    assert [module.backend_id for module in lowered] == ["StackBackend", "XnnpackBackend", "StackBackend"]
    assert get_non_lowered_nodes(edge.exported_program().graph) == []


def test_a_whole_program(stack: Any) -> None:
    program = to_edge(torch.export.export(_Pure(), INPUTS)).exported_program()
    lowered = to_backend("StackBackend", program, [])
    assert lowered.processed_bytes[:4] == b"STAK"
    assert [handles for handles in lowered.meta["debug_handle_map"].values()] == [(1,), (2,), (3,)]
    torch.testing.assert_close(lowered.original_module.module()(*INPUTS), _Pure()(*INPUTS))


def test_a_lowered_module_inside_another_module(stack: Any) -> None:
    lowered = to_backend("StackBackend", to_edge(torch.export.export(_Pure(), INPUTS)).exported_program(), [])

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = lowered

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.exp(self.inner(x, y)[0])

    edge = to_edge(torch.export.export(Outer(), INPUTS))
    found = get_lowered_backend_modules(edge.exported_program().graph_module)
    assert [module.backend_id for module in found] == ["StackBackend"]
    plan = edge.to_executorch().executorch_program.execution_plan[0]
    assert [delegate.id for delegate in plan.delegates] == ["StackBackend"]


def test_a_missing_backend_is_named_when_it_is_loaded(mixed_file: Path) -> None:
    with pytest.warns(BackendMissingWarning, match=r"'forward' needs StackBackend.*load_library"):
        program = Runtime.get().load_program(mixed_file)
    assert program.metadata("forward").backends() == ["StackBackend", "StackBackend"]
    with pytest.raises(NotFoundError, match=r"StackBackend \(a shared library .*RUSHLIGHT_BACKEND_LIBRARY"):
        program.load_method("forward")


def test_from_python(build_example: Callable[[str], Path], tmp_path: Path) -> None:
    library = build_example("backend") / "libstack_backend.so"
    done = python(EXAMPLE / "run.py", str(library), str(tmp_path / "model.pte"), path=EXAMPLE)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "stack: StackBackend" in lines
    assert lines[-2].startswith(
        "method 'forward', instruction 0 of chain 0 (StackBackend operator 0): element 0"
    )
    assert lines[-1].startswith("at aten.mul.Tensor in StackBackend, ")
    assert lines[-1].endswith("run.py:28")


def test_from_cpp(build_example: Callable[[str], Path], mixed_file: Path) -> None:
    done = run([str(build_example("backend") / "embed"), str(mixed_file)])
    ones = torch.ones(3, 4)
    expected = _Mixed()(ones, ones).flatten()
    torch.testing.assert_close(torch.tensor([float(line) for line in done.stdout.split()]), expected)


def test_the_runner(build_example: Callable[[str], Path], mixed_file: Path) -> None:
    library = build_example("backend") / "libstack_backend.so"
    done = run([str(RUNNER), "--model_path", str(mixed_file), "--kernel_library", str(library)])
    assert "output 0: float32[3, 4]" in done.stdout
    without = subprocess.run([str(RUNNER), str(mixed_file)], capture_output=True, text=True)
    assert without.returncode == 1
    assert "StackBackend (a shared library" in without.stderr


STATE = """
import sys, torch, rushlight
from stack import StackPartitioner
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.exir import to_edge_transform_and_lower

rushlight.load_library(sys.argv[1])

class States(torch.nn.Module):
    # Two states of which one follows the other, one that is counted, one that the program keeps.
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.tensor([1.0, 2.0]))
        self.register_buffer("b", torch.tensor([3.0, 4.0]))
        self.register_buffer("count", torch.zeros(3))
        self.register_buffer("kept", torch.ones(2))
        self.register_buffer("weight", torch.tensor([2.0, 5.0]))

    def forward(self, x):
        result = self.a - self.b * self.weight + x
        self.a.add_(x)
        self.b.mul_(self.a)
        self.count.add_(torch.ones(3))
        self.kept.mul_(torch.exp(self.kept))
        return result + self.kept * self.weight, self.count * self.count

model, x = States().eval(), torch.tensor([0.5, -0.25])
exported = torch.export.export(model, (x,))
edge = to_edge_transform_and_lower(exported, partitioner=[StackPartitioner()])
program = edge.exported_program()
owned = {t for m in get_lowered_backend_modules(program.graph_module)
         for t in m.original_module.graph_signature.buffers_to_mutate.values()}
assert owned == {"a", "b", "count"}, owned
assert set(program.graph_signature.buffers_to_mutate.values()) == {"kept"}
buffer = edge.to_executorch().buffer
first, second = rushlight.load(buffer), rushlight.load(buffer)
for round in range(4):
    torch.testing.assert_close(first(x), model(x))
fresh = States().eval()
torch.testing.assert_close(second(x), fresh(x))   # each method has a state of its own
print("same")
"""


def test_state_stays_in_the_delegate(build_example: Callable[[str], Path]) -> None:
    library = build_example("backend") / "libstack_backend.so"
    done = python(STATE, str(library), path=EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "same\n"


OPTIONS = """
import sys, torch, rushlight
from rushlight.runtime import Runtime

rushlight.load_library(sys.argv[1])
registry = Runtime.get().backend_registry
assert "StackBackend" in registry.registered_backend_names and registry.is_available("StackBackend")
program = Runtime.get().load_program(sys.argv[2])
infinite = [torch.full((3, 4), float("inf"))] * 2

def fails(method):
    try:
        method.execute(infinite)
    except rushlight.RushlightError as error:
        assert (error.method, error.instruction, error.delegate_operator) == ("forward", 0, 0)
        return True
    return False

assert not fails(program.load_method("forward"))
assert fails(program.load_method("forward", backend_options={"StackBackend": {"check_finite": True}}))
registry.set_option("StackBackend", "check_finite", True)
assert registry.get_option("StackBackend", "check_finite") is True
assert fails(Runtime.get().load_program(sys.argv[2]).load_method("forward"))
off = Runtime.get().load_program(sys.argv[2], backend_options={"StackBackend": {"check_finite": False}})
assert not fails(off.load_method("forward"))
for call, text in (
    (lambda: registry.set_option("StackBackend", "speed", 3), "the given option is 'speed'"),
    (lambda: registry.get_option("StackBackend", "speed"), "no option 'speed'"),
    (lambda: registry.set_option("NoBackend", "speed", 3), "no backend 'NoBackend'"),
    (lambda: registry.set_option("StackBackend", "check_finite", 0.5), "a bool, an int or a str, not float"),
    (lambda: program.load_method("forward", backend_options={"StackBackend": {"check_finite": 1}}), "a bool"),
):
    try:
        call()
    except rushlight.RushlightError as error:
        assert text in str(error), error
    else:
        raise SystemExit("no error: " + text)
print("done")
"""


def test_options(build_example: Callable[[str], Path], mixed_file: Path) -> None:
    library = build_example("backend") / "libstack_backend.so"
    done = python(OPTIONS, str(library), str(mixed_file), path=EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


HOSTILE = """
import sys, numpy as np, rushlight
from rushlight.format.pte import read_pte, write_pte
from rushlight.runtime import Runtime

rushlight.load_library(sys.argv[1])
data = open(sys.argv[2], "rb").read()
payload = bytes(read_pte(data).delegate_data[0])
inputs = [np.ones((3, 4), np.float32)] * 2

def is_refused(damaged):
    file = read_pte(data)
    file.delegate_data[0] = damaged
    try:
        Runtime.get().load_program(write_pte(file)).load_method("forward").execute(inputs)
    except rushlight.RushlightError:
        return True
    return False

assert not is_refused(payload)
assert all(is_refused(payload[:size]) for size in range(len(payload)))
changes = [(i, v) for i in range(len(payload)) for v in (0, 255, payload[i] ^ 1) if v != payload[i]]
refused = sum(is_refused(payload[:i] + bytes([v]) + payload[i + 1:]) for i, v in changes)
print(refused / len(changes))
"""


def test_a_damaged_payload_is_refused(build_example: Callable[[str], Path], mixed_file: Path) -> None:
    library = build_example("backend") / "libstack_backend.so"
    done = python(HOSTILE, str(library), str(mixed_file), path=EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0.5


def test_the_library_may_come_after_the_program(
    build_example: Callable[[str], Path], mixed_file: Path
) -> None:
    source = """
import sys, warnings, torch, rushlight
from rushlight.runtime import Runtime
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    program = Runtime.get().load_program(sys.argv[2])
assert "StackBackend" in str(seen[0].message)
try:
    program.load_method("forward")
    raise SystemExit("no error")
except rushlight.RushlightError:
    pass
rushlight.load_library(sys.argv[1])
print(len(program.load_method("forward").execute([torch.ones(3, 4)] * 2)))
"""
    library = build_example("backend") / "libstack_backend.so"
    done = python(source, str(library), str(mixed_file), path=EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"


def test_the_error_is_the_runtimes(mixed_file: Path) -> None:
    with pytest.warns(BackendMissingWarning):
        program = Runtime.get().load_program(mixed_file)
    with pytest.raises(RushlightError) as caught:
        program.load_method("forward")
    assert caught.value.instruction is None
