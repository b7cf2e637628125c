"""`to_native` and its manager: packages compute what eager PyTorch computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Function
from tests.compat.native.interpreter import Interpreter
from torch import nn
from torch.export import Dim, ExportedProgram, export

from rushlight.compat.native.lowering import NativeProgramManager, check_program, to_native
from rushlight.compat.native.package import read_ptn
from rushlight.compat.native.schema import AffineGroup, QuantSpec
from rushlight.compat.native.tables import deserialize_program


class Counter(nn.Module):
    """Buffers of each kind: saved and not saved, changed and constant, zero and not zero at first."""

    total: torch.Tensor
    product: torch.Tensor
    table: torch.Tensor
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3), persistent=False)
        self.register_buffer("product", torch.full((3,), 2.0), persistent=False)
        self.register_buffer("table", torch.arange(3.0), persistent=False)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.total.add_(x)
        self.product.mul_(x)
        self.count.add_(1)
        return self.total + self.product + self.table, self.count


def package(programs: ExportedProgram | dict[str, ExportedProgram], folder: Path) -> Interpreter:
    path = folder / "model.ptn"
    to_native(programs).save(path)
    return Interpreter(*read_ptn(path))


def assert_same(got: list[Any], expected: Any) -> None:
    expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b)


def branch(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(torch.cond(x.sum() > y.sum(), lambda a, b: a - b, lambda a, b: a * b, (x, y)) - x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inputs in another order": lambda x, y: y - x,
    "outputs in another order": lambda x, y: ((a := torch.sin(x)) + y, a),
    "an output twice": lambda x, y: ((a := x + y), a),
    "an input as output": lambda x, y: (x, x + y),
    "an unused input": lambda x, y: torch.exp(y),
    "a number": lambda x, y: (x + y, 7),
    "parts without a common value": lambda x, y: (torch.cos(x), torch.sin(y)),
    "scalars": lambda x, y: (x + 1.5) * 2 - y,
    "lists": lambda x, y: torch.split(torch.cat([x, y, x]), [1, 5]),
    "several results": lambda x, y: torch.topk(x @ y.T, 2),
    "indices": lambda x, y: x[:, torch.tensor([2, 0])] + y[:, :2],
    "dtypes": lambda x, y: (x > y, x.to(torch.float16), y.int()),
    "views": lambda x, y: x.reshape(3, 2).transpose(0, 1).flatten() + y.view(-1),
    "in place": lambda x, y: torch.nn.functional.gelu(torch.relu(x + y)) - x,
    "branches": branch,
    "attention": lambda x, y: nn.functional.scaled_dot_product_attention(x[None], y[None], x[None]),
    "padding": lambda x, y: nn.functional.pad(x, (1, 2), value=3.0) + y.mean(),
    "upsampling": lambda x, y: nn.functional.interpolate(x[None, None] + y, scale_factor=2.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = Function(FUNCTIONS[name]), (torch.randn(2, 3), torch.randn(2, 3))
    native = package(export(module, inputs), tmp_path)
    for scale in (1, -2):
        scaled = tuple(value * scale for value in inputs)
        before = [value.clone() for value in scaled]
        assert_same(native.run("forward", *scaled), module(*scaled))
        assert all(map(torch.equal, scaled, before))


def test_a_network(tmp_path: Path) -> None:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU6(), nn.AdaptiveAvgPool2d(2)]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32, 5), nn.Softmax(-1)).eval()
    x = torch.randn(2, 3, 9, 9)
    assert_same(package(export(network, (x,)), tmp_path).run("forward", x), network(x))


def test_the_state_of_buffers_is_kept(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    native, eager = package(export(Counter(), (x,)), tmp_path), Counter()
    for factor in (1, 2, 3):
        assert_same(native.run("forward", x * factor), [v.clone() for v in eager(x * factor)])
    ptg, tensors = read_ptn(tmp_path / "model.ptn")
    (method,) = deserialize_program(ptg).methods
    assert {buffer.fqn for buffer in method.mutable_buffers or []} == {"total"}
    assert {"product", "table", "count"} <= tensors.keys()
    assert {c.data_key for c in method.constants or [] if c.mutated} == {"product", "count"}


def test_a_program_changes_its_input(tmp_path: Path) -> None:
    module = Function(lambda x, y: x.add_(y) * 2)
    native = package(export(module, (torch.ones(2), torch.ones(2))), tmp_path)
    x = torch.tensor([1.0, 5.0])
    assert_same(native.run("forward", x, torch.ones(2)), torch.tensor([4.0, 12.0]))
    assert x.tolist() == [2.0, 6.0]


def test_dynamic_sizes(tmp_path: Path) -> None:
    module = Function(lambda x: x.view(x.shape[0], -1) * 2.0)
    shapes = {"inputs": ({0: Dim("rows", min=2, max=9)},)}
    native = package(export(module, (torch.ones(4, 2, 3),), dynamic_shapes=shapes), tmp_path)
    for rows in (2, 5, 9):
        x = torch.randn(rows, 2, 3)
        assert_same(native.run("forward", x), module(x))


def test_methods_share_weights_and_buffers(tmp_path: Path) -> None:
    class Model(nn.Module):
        cache: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.register_buffer("cache", torch.zeros(3), persistent=False)

    class Write(Model):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.cache.copy_(self.linear(x))
            return self.cache + 1.0

    class Read(Model):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) + self.cache + 2.0

    write, read = Write(), Read()
    read.load_state_dict(write.state_dict())
    x = torch.randn(3)
    manager = to_native({"write": export(write, (x,)), "read": export(read, (x,))})
    assert manager.methods == {"write", "read"}
    manager.save(tmp_path / "model.ptn")
    ptg, tensors = read_ptn(tmp_path / "model.ptn")
    native = Interpreter(ptg, tensors)
    assert_same(native.run("write", x), write(x))
    assert_same(native.run("read", x), write.linear(x) * 2 + 2.0)
    methods = deserialize_program(ptg).methods
    assert all([buffer.fqn for buffer in method.mutable_buffers or []] == ["cache"] for method in methods)
    assert sum("weight" in key for key in tensors) == 1


def test_the_exported_program_is_not_changed() -> None:
    program = export(Counter(), (torch.ones(3),))
    before = str(program.graph), {key: value.clone() for key, value in program.state_dict.items()}
    to_native(program)
    assert str(program.graph) == before[0]
    assert all(torch.equal(program.state_dict[key], value) for key, value in before[1].items())


def test_equal_models_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        torch.manual_seed(0)
        to_native(export(nn.Linear(3, 2), (torch.ones(1, 3),))).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_missing_operators_are_named() -> None:
    def solve(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(x, x + 1.0, upper=True)

    program = export(Function(solve), (torch.eye(3),))
    with pytest.raises(
        ValueError, match="method 'solve' did not fully delegate to the native backend"
    ) as info:
        to_native({"solve": program})
    assert "torch.ops.aten.linalg_solve_triangular.default" in str(info.value)
    assert "support.py" in str(info.value) and "to_executorch()" in str(info.value)


def test_quantized_programs_are_refused() -> None:
    def quantized(x: torch.Tensor) -> torch.Tensor:
        q = torch.ops.quantized_decomposed.quantize_per_tensor(x, 0.1, 0, -128, 127, torch.int8)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(q, 0.1, 0, -128, 127, torch.int8)

    with pytest.raises(ValueError, match=r"quantized_decomposed\.quantize_per_tensor\.default .*dequantize"):
        to_native(export(Function(quantized), (torch.ones(3),)))


def test_different_parameters_of_one_name_are_refused() -> None:
    x = torch.ones(1, 3)
    programs = {"a": export(nn.Linear(3, 2), (x,)), "b": export(nn.Linear(3, 2), (x,))}
    with pytest.raises(ValueError, match=r"method 'b': (weight|bias) differs from that of method 'a'"):
        to_native(programs)


@pytest.mark.parametrize(
    ("programs", "error", "message"),
    [
        ({}, ValueError, "at least one method"),
        (7, TypeError, "must be an ExportedProgram, or a dict"),
        ({1: None}, TypeError, "every method name must be str, not int: 1"),
        ({"": None}, ValueError, "non-empty strings"),
        ({"f": 7}, TypeError, "method 'f' must map to an ExportedProgram, not int"),
    ],
)
def test_wrong_arguments(programs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        to_native(programs)


def test_inputs_that_are_not_tensors_are_refused() -> None:
    program = export(Function(lambda x, n: x + n), (torch.ones(2), 3))
    with pytest.raises(ValueError, match="is not a tensor: methods of native programs"):
        to_native(program)


def test_programs_without_their_tensors_are_refused() -> None:
    manager = to_native(export(nn.Linear(3, 2), (torch.ones(1, 3),)))
    program = deserialize_program(manager._ptg)
    check_program(program, manager._constants)
    with pytest.raises(ValueError, match="has no tensor for the data key"):
        check_program(program, {})
    values = program.methods[0].graph.tensor_values
    assert values is not None
    values[0].meta.quant = QuantSpec(AffineGroup("scales", values[0].meta.dtype, -8, 7))
    with pytest.raises(ValueError, match=r"tensors that do not exist: \['scales'\]"):
        check_program(program, manager._constants)


def test_a_failed_save_keeps_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.ptn"
    manager = to_native(export(nn.Linear(3, 2), (torch.ones(1, 3),)))
    manager.save(path)
    before = path.read_bytes()
    broken = NativeProgramManager(manager._ptg, {"w": torch.ones(2, dtype=torch.complex128)})
    with pytest.raises(KeyError, match=r"'w', a tensor of torch\.complex128"):
        broken.save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
