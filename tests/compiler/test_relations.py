"""The runtime checks relations between sizes, and between integers that are read from tensors."""

from __future__ import annotations

import inspect
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import rushlight
from rushlight.emit.relations import KEY
from rushlight.format.pte import NamedDataEntry, read_pte, write_pte
from rushlight.runtime import Runtime


class Span(torch.nn.Module):
    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        i, j = ends.tolist()
        torch._check(i >= 0)
        torch._check(j >= i)
        torch._check(j <= x.shape[0])
        return x[i:j] * 2


class Sums(torch.nn.Module):
    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        i, j = ends.tolist()
        torch._check(i + 2 * j <= x.shape[0])
        torch._check(i != j)
        return x + i + j


class Sizes(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        torch._check(x.shape[0] <= y.shape[0])
        torch._check((x.shape[0] + y.shape[0]) % 4 == 0)
        return x.sum() + y[: x.shape[0]].sum()


def ends(i: Any, j: Any) -> Any:
    return torch.tensor([i, j])


def line_of(module: Any, text: Any) -> Any:
    lines, first = inspect.getsourcelines(module.forward)
    return f"test_relations.py:{first + next(k for k, line in enumerate(lines) if text in line)}"


ONE, BOTH = ({0: Dim("a", min=2, max=16)}, None), ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
MODULES = {
    "span": (Span(), (torch.randn(8), ends(2, 5)), ONE),
    "sums": (Sums(), (torch.randn(9), ends(2, 3)), ONE),
    "sizes": (Sizes(), (torch.randn(3, 2), torch.randn(5, 2)), BOTH),
}
CASES = [
    ("span", (torch.randn(9), ends(3, 9)), None),
    ("span", (torch.randn(9), ends(4, 4)), None),
    ("span", (torch.randn(9), ends(5, 4)), ("tolist", "u0 <= u1", "u0 is 5, u1 is 4")),
    ("span", (torch.randn(7), ends(2, 8)), ("tolist", "u1 <= x.shape[0]", "u1 is 8, x.shape[0] is 7")),
    ("sums", (torch.randn(10), ends(2, 4)), None),
    ("sums", (torch.randn(9), ends(2, 4)), ("tolist", "u0 + 2*u1 <= x.shape[0]", "x.shape[0] is 9")),
    ("sums", (torch.randn(10), ends(3, 3)), ("tolist", "u0 != u1", "u0 is 3, u1 is 3")),
    ("sizes", (torch.randn(4, 2), torch.randn(4, 2)), None),
    ("sizes", (torch.randn(6, 2), torch.randn(2, 2)),
     ("x.shape[0] <=", "x.shape[0] <= y.shape[0]", "x.shape[0] is 6, y.shape[0] is 2")),
    ("sizes", (torch.randn(3, 2), torch.randn(6, 2)),
     ("% 4", "Mod(y.shape[0] + x.shape[0], 4) == 0", "y.shape[0] is 6, x.shape[0] is 3")),
]  # fmt: skip


@pytest.fixture(scope="module")
def compiled() -> Any:
    return {
        name: bytes(rushlight.compile(module, inputs, dynamic_shapes=dynamic, partitioner=()).buffer)
        for name, (module, inputs, dynamic) in MODULES.items()
    }


@pytest.mark.parametrize(("name", "inputs", "wrong"), CASES)
def test_relations_are_checked(compiled: Any, name: str, inputs: Any, wrong: Any) -> None:
    module, right, _ = MODULES[name]
    method = Runtime.get().load_program(compiled[name]).load_method("forward")
    if wrong is None:
        torch.testing.assert_close(method.execute(list(inputs))[0], module(*inputs))
        return
    line, relation, values = wrong
    with pytest.raises(ValueError) as raised:
        method.execute(list(inputs))
    assert f"method 'forward' needs {relation} ({line_of(module, line)}), but " in str(raised.value)
    assert values in str(raised.value)
    # The method works again with correct values.
    torch.testing.assert_close(method.execute(list(right))[0], module(*right))


def test_a_saved_program_keeps_what_its_graph_asserts(tmp_path: Path) -> None:
    module, inputs, dynamic = MODULES["span"]
    torch.export.save(torch.export.export(module, inputs, dynamic_shapes=dynamic), tmp_path / "span.pt2")
    program = rushlight.compile(torch.export.load(tmp_path / "span.pt2"), partitioner=())
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    with pytest.raises(ValueError, match=r"needs u0 <= u1.*u0 is 5, u1 is 4"):
        method.execute([torch.randn(9), ends(5, 4)])


def with_relations(data: Any, change: Any) -> Any:
    file = read_pte(data)
    relations = bytearray(file.named_data[KEY + "forward"].data)
    change(relations)
    file.named_data[KEY + "forward"] = NamedDataEntry(bytes(relations))
    return write_pte(file)


def first_step(data: Any) -> Any:
    return 16 + 24 * struct.unpack_from("<I", data, 4)[0]


DAMAGE = {
    "count": lambda d: struct.pack_into("<I", d, 4, 1 << 20),
    "steps": lambda d: struct.pack_into("<I", d, 8, 1 << 20),
    "trigger": lambda d: struct.pack_into("<I", d, 16, 4000),
    "text": lambda d: struct.pack_into("<I", d, 28, len(d)),
    "end": lambda d: d.__setitem__(-1, 65),
    "operation": lambda d: struct.pack_into("<I", d, first_step(d), 17),
    "too few numbers": lambda d: struct.pack_into("<I", d, first_step(d), 4),
    "index": lambda d: struct.pack_into("<I", d, first_step(d) + 4, 999),
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_damaged_relations_are_refused(compiled: Any, change: Any) -> None:
    data = with_relations(compiled["span"], change)
    with pytest.raises((ValueError, RuntimeError), match="damaged"):
        Runtime.get().load_program(data).load_method("forward")


def test_relations_of_a_newer_version_are_left_alone(compiled: Any) -> None:
    data = with_relations(compiled["span"], lambda d: struct.pack_into("<I", d, 0, 2))
    assert Runtime.get().load_program(data).load_method("forward")


def test_comparisons_of_example_sizes_in_decompositions_are_no_relations() -> None:
    """The decomposition of a diagonal compares its axes, but the exported program supports all sizes."""

    class Diagonal(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            v = (x + x).diagonal(-1, 0, -1)
            v.unsqueeze(2).round_()
            flat = v.flatten(0, 1)
            return torch.cat([flat, flat])[torch.arange(2) * 2]

    half = Dim("half", min=2, max=4)
    program = torch.export.export(Diagonal(), (torch.randn(8, 1, 4),), dynamic_shapes=({0: 2 * half},))
    for options in ({"partitioner": ()}, {}):
        module = rushlight.load(rushlight.compile(program, **options).buffer)  # type: ignore[arg-type]
        for size in (4, 6, 8):
            x = torch.randn(size, 1, 4)
            torch.testing.assert_close(module(x), Diagonal()(x))


class Copy(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)[None].clone()


class Heads(torch.nn.Module):
    """Torch assumes that the product of both sizes differs from the first size, and from a divisor of it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.unflatten(-1, (2, 4)).transpose(1, 2).transpose(1, 2).flatten(2))


@pytest.mark.parametrize(("kind", "last"), [(Copy, 6), (Heads, 8)])
def test_guards_that_torch_adds_when_it_decomposes_are_no_relations(
    kind: type[torch.nn.Module], last: int, tmp_path: Path
) -> None:
    """Torch assumes sizes of at least 2, but the exported program supports 0 and 1."""
    model = kind().eval()
    shapes = ({0: Dim("batch", max=6), 1: Dim("steps", max=40)},)
    exported = torch.export.export(model, (torch.randn(2, 5, last),), dynamic_shapes=shapes)
    torch.export.save(exported, tmp_path / "model.pt2")
    program = torch.export.load(tmp_path / "model.pt2")
    program.run_decompositions({})
    module = rushlight.load(rushlight.compile(program).buffer)
    for sizes in ((0, 4), (1, 1), (1, 4), (5, 1), (5, 7)):
        x = torch.randn(*sizes, last)
        torch.testing.assert_close(module(x), model(x))
