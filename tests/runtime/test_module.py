"""rushlight.load: modules with the signature of the model."""

from __future__ import annotations

import copy
import json
import pickle
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import export
from torch.utils import _pytree

import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.format.program import DelegateCall
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.runtime.errors import InvalidArgumentError, InvalidProgramError, NotSupportedError
from rushlight.runtime.pytree import parse_names, parse_tree


@pytest.fixture
def nested(nested_program: bytes) -> rushlight.Module:
    return rushlight.load(nested_program)


def two(value: float) -> Any:
    return np.full(2, value, np.float32)


def test_containers_and_keywords(nested: rushlight.Module) -> None:
    result, x = nested(two(1), {"b": [two(3)], "a": two(2)}, bias=two(10))
    assert result.keys() == {"sum", "parts"}
    assert result["sum"].tolist() == [3, 3]
    assert isinstance(result["parts"], list) and result["parts"][0].tolist() == [13, 13]
    assert x.tolist() == [1, 1]


def test_backend_options_are_never_ignored() -> None:
    program = rushlight.compile(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    module = rushlight.load(program, backend_options={"cpu": {"isa": "generic"}})
    with pytest.raises(
        InvalidArgumentError, match="there is no backend 'cpu'; the backends are CpuBackend, "
    ):
        module(torch.ones(1, 2))
    loaded = rushlight.load(program, backend_options={"CpuBackend": {"speed": 1}}).program
    for load in (loaded.load_method, loaded.load_timed_method):
        with pytest.raises(NotSupportedError, match="CpuBackend has no option 'speed'"):
            load("forward")


def test_torch_tensors_in_containers(nested: rushlight.Module) -> None:
    x = torch.ones(2)
    result, _ = nested.forward(x, {"a": x, "b": (x,)}, bias=x)
    assert torch.equal(result["sum"], x + x)


X = two(0)
Y = {"a": X, "b": [X]}


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((X,), {"bias": X}, "forward takes 2 positional arguments, but 1 is given"),
        ((X, Y), {}, "keyword arguments bias: bias is missing"),
        ((X, Y), {"bias": X, "extra": X}, "extra is unknown"),
        ((X,), {"bias": X, "extra": X}, "extra is unknown"),
        (
            (X, {"a": X}),
            {"bias": X},
            "positional argument 1 of forward must be a dict with the keys 'a', 'b', not",
        ),
        ((X, X), {"bias": X}, "must be a dict with the keys 'a', 'b', not a value of type ndarray"),
        (
            (X, {"a": X, "b": [X, X]}),
            {"bias": X},
            r"positional argument 1 of forward\['b'\] must be a list or tuple of length 1, not a list of ",
        ),
        (
            (X, {"a": X, "b": [X[:1]]}),
            {"bias": X},
            r"input 2 \(positional argument 1\['b'\]\[0\]\) takes float32\[2\], but float32\[1\]",
        ),
        ((X, Y), {"bias": X.astype(int)}, r"input 3 \(argument 'bias'\) takes float32\[2\], but int64\[2\]"),
    ],
)
def test_wrong_arguments(nested: rushlight.Module, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        nested(*args, **kwargs)


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, *, scale: torch.Tensor) -> torch.Tensor:
        return x * scale - y


@pytest.fixture(scope="module")
def scaled() -> rushlight.Module:
    program = torch.export.export(Scaled(), (torch.ones(2), torch.ones(2)), {"scale": torch.ones(2)})
    return rushlight.load(rushlight.compile(program))


def test_arguments_by_name(scaled: rushlight.Module) -> None:
    x, y, scale = two(1), two(2), two(10)
    for result in (
        scaled(x, y, scale=scale),
        scaled(x, y=y, scale=scale),
        scaled(scale=scale, y=y, x=x),
        scaled.forward(x, scale=scale, y=y),
    ):
        assert result.tolist() == [8, 8]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((X,), {"x": X, "scale": X}, "forward got the argument 'x' twice"),
        ((), {"y": X, "scale": X}, "forward is missing the argument x"),
        ((X,), {"y": X}, "scale is missing"),
        ((X,), {"y": X, "scale": X, "z": X}, "z is unknown; the positional arguments are x, y"),
        ((X, X), {"scale": X, "z": X}, "z is unknown; the positional arguments are x, y"),
        ((X, X[:1]), {"scale": X}, r"input 1 \(argument 'y'\) takes float32"),
    ],
)
def test_wrong_names(scaled: rushlight.Module, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        scaled(*args, **kwargs)


@pytest.mark.parametrize("names", ["x", ["x", "x"], ["x", 2]])
def test_damaged_names(names: Any) -> None:
    text = json.dumps([1, {"type": None, "context": None, "children_spec": [], "names": names}])
    with pytest.raises(InvalidProgramError, match="the program's pytree is damaged"):
        parse_names(text)


def test_methods_are_attributes(getters: bytes) -> None:
    module = rushlight.load(getters)
    assert module.method_names == {"integer", "real", "yes", "text", "nothing", "tensor"}
    assert module.integer() == 7
    assert module.run_method("text") == "héllo"
    assert module.tensor().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert "real" in dir(module)
    with pytest.raises(AttributeError, match="no method 'forward'; it has integer, real"):
        _ = module.forward
    with pytest.raises(KeyError, match="no method 'absent'"):
        module.run_method("absent")
    with pytest.raises(KeyError, match="no method 'forward'"):
        module()


def test_without_a_spec(add_program: Callable[..., bytes]) -> None:
    module = rushlight.load(add_program(2))
    assert module(two(1), two(2)).tolist() == [3, 3]
    with pytest.raises(InvalidArgumentError, match="takes 2 positional arguments, but 3 are given"):
        module(two(1), two(2), two(3))
    message = "other is unknown; the program does not contain the names of its 2 positional arguments"
    with pytest.raises(InvalidArgumentError, match=message):
        module(two(1), two(2), other=two(3))


def test_sources(add_program: Callable[..., bytes], tmp_path: Path) -> None:
    data = add_program(2)
    path = tmp_path / "add.pte"
    path.write_bytes(data)
    with open(path, "rb") as file:
        sources = [data, bytearray(data), memoryview(data), path, str(path), file]
        for source in sources:
            assert rushlight.load(source)(two(1), two(2)).tolist() == [3, 3]  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not int"):
        rushlight.load(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        [1, (2, [3]), {}],
        {"x": 1, 5: [2]},
        OrderedDict(b=1, a=2),
        deque([1, 2]),
        defaultdict(list, a=1),  # type: ignore[arg-type]
        ((1, {"k": [2]}), {"flag": 3}),
        7,
        (),
    ],
    ids=repr,
)
def test_trees_are_those_of_torch(value: Any) -> None:
    leaves, spec = _pytree.tree_flatten(value)
    tree = parse_tree(_pytree.treespec_dumps(spec))
    assert tree is not None and tree.count() == len(leaves)
    flat: list[Any] = []
    tree.flatten(value, flat)
    assert flat == leaves
    again = tree.unflatten(iter(leaves))
    assert again == value and type(again) is type(value)


def test_named_tuples_keep_their_fields() -> None:
    node: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
    context = {"class_name": "model.Pair", "fields": ["left", "right"]}
    text = json.dumps(
        [1, {"type": "collections.namedtuple", "context": context, "children_spec": [node, node]}]
    )
    tree = parse_tree(text)
    assert tree is not None
    pair = tree.unflatten(iter([1, 2]))
    assert (pair.left, pair.right, type(pair).__name__) == (1, 2, "Pair")


def test_unknown_containers() -> None:
    node: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
    with_keys = {"type": "library.Output", "context": '["logits"]', "children_spec": [node]}
    without = {"type": "library.Other", "context": "opaque", "children_spec": [node]}
    for root, value in ((with_keys, {"logits": 1}), (without, (1,))):
        tree = parse_tree(json.dumps([1, root]))
        assert tree is not None and tree.unflatten(iter([1])) == value


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        "[2, {}]",
        '[1, {"type": "builtins.dict", "context": "[1, 2]", "children_spec": []}]',
        '[1, {"type": "builtins.tuple"}]',
        '[1, {"type": "collections.namedtuple", "context": {"class_name": "a b", "fields": []}, '
        '"children_spec": []}]',
        "[1, 5]",
    ],
)
def test_damaged_specs(text: str) -> None:
    with pytest.raises(InvalidProgramError, match="pytree is damaged"):
        parse_tree(text)


class Counter(torch.nn.Module):
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x + self.count


def test_compiled_programs_are_loaded() -> None:
    compiled = rushlight.compile(Counter(), (torch.zeros(1),))
    for source in (compiled, compiled.manager):
        assert rushlight.load(source)(torch.zeros(1)).tolist() == [1]
    with pytest.raises(TypeError, match="or a compiled program, not int"):
        rushlight.load(3)  # type: ignore[arg-type]


def test_copies_are_loaded_anew(tmp_path: Path) -> None:
    compiled = rushlight.compile(Counter(), (torch.zeros(1),))
    compiled.save(tmp_path / "counter.pte")
    with open(tmp_path / "counter.pte", "rb") as file:
        sources = [compiled, memoryview(compiled.buffer), tmp_path / "counter.pte", file]
        modules = [rushlight.load(source, threads=1) for source in sources]  # type: ignore[arg-type]
    for module in modules:
        module(torch.zeros(1))
        for again in (copy.copy(module), copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert again(torch.zeros(1)).tolist() == [1]
        assert module(torch.zeros(1)).tolist() == [2]


class Started(torch.nn.Module):
    """Adds to a buffer with nonzero initial values, and to one with zeros."""

    sums: torch.Tensor
    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sums", torch.tensor([3.0, 4.0]))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.sums += x
        self.calls += 1
        return self.sums.clone(), self.calls.clone()


class InDelegate(torch.nn.Module):
    """Adds to a buffer that CpuBackend keeps."""

    sums: torch.Tensor

    def __init__(self, first: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("sums", first)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.sums += x @ x
        return torch.relu(self.sums) * 2


@pytest.mark.parametrize("first", [torch.zeros(2, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]])])
def test_reset_state_reaches_delegates(first: torch.Tensor) -> None:
    compiled = rushlight.compile(InDelegate(first.clone()), (torch.zeros(2, 2),))
    plan = compiled.manager.executorch_program.execution_plan[0]
    (call_of_delegate,) = plan.chains[0].instructions
    assert isinstance(call_of_delegate.instr_args, DelegateCall)
    assert len(call_of_delegate.instr_args.args) == 2, "the buffer is no argument of CpuBackend"
    module = rushlight.load(compiled)
    for _ in range(2):
        for call in (1, 2, 3):
            torch.testing.assert_close(module(torch.eye(2)), 2 * (first + call * torch.eye(2)))
        module.reset_state()


@pytest.mark.parametrize("options", [{}, {"partitioner": ()}])
def test_reset_state_gives_buffers_their_first_contents(options: dict[str, Any]) -> None:
    module = rushlight.load(rushlight.compile(Started(), (torch.zeros(2),), **options))
    x = torch.tensor([1.0, 2.0])
    for _ in range(2):
        for call in (1, 2, 3):
            sums, calls = module(x)
            assert sums.tolist() == [3 + call, 4 + 2 * call]
            assert calls.tolist() == [call]
        module.reset_state()


def test_reset_state_of_one_method() -> None:
    methods = {name: export(Started(), (torch.zeros(2),)) for name in ("first", "second")}
    module = rushlight.load(rushlight.compile(methods))
    for name in methods:
        module.method(name)(torch.ones(2))
    module.method("first").reset_state()
    assert module.method("first")(torch.ones(2))[1].tolist() == [1]
    assert module.method("second")(torch.ones(2))[1].tolist() == [2]


def test_reset_state_of_shared_buffers() -> None:
    methods = {name: export(Started(), (torch.zeros(2),)) for name in ("first", "second")}
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    config = ExecutorchBackendConfig(memory_planning_pass=planning)
    module = rushlight.load(rushlight.compile(methods, backend_config=config))
    assert module.method("first")(torch.ones(2))[1].tolist() == [1]
    assert module.method("second")(torch.ones(2))[1].tolist() == [2]
    module.method("second").reset_state()
    sums, calls = module.method("first")(torch.ones(2))
    assert (sums.tolist(), calls.tolist()) == ([4, 5], [1])
