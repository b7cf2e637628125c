"""The runtime checks the ranges, divisors and relations of input sizes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import torch
from torch.export import Dim

import rushlight
from rushlight.emit.shape_guards import KEY
from rushlight.format.pte import NamedDataEntry, read_pte, write_pte
from rushlight.runtime import Runtime

S = Dim("s", min=2, max=4)


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.relu().sum() + y.sum()


class Rows(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        return x[:n] * 2


X, Y = "dim 0 of input 0 ('x')", "dim 0 of input 1 ('y')"
CASES = {
    "range": ((6, 2), (1, 2), ({0: Dim("b", min=3, max=8)}, None)),
    "multiple": ((8, 2), (1, 2), ({0: 4 * S}, None)),
    "same": ((3, 2), (3, 2), ({0: S}, {0: S})),
    "derived": ((8, 2), (2, 5), ({0: 4 * S}, {0: S})),
    "one_more": ((4, 2), (3, 2), ({0: S}, {0: S - 1})),
    "unbounded": ((6, 2), (1, 2), ({0: Dim("b", min=3)}, None)),
}
SIZES = [
    ("range", (8, 2), (1, 2), None),
    ("range", (3, 2), (1, 2), None),
    ("range", (9, 2), (1, 2), f"{X} of method 'forward' must be at most 8, but is 9"),
    ("range", (2, 2), (1, 2), f"{X} of method 'forward' must be at least 3, but is 2"),
    ("range", (8, 3), (1, 2), "dim 1 of input 0 ('x') of method 'forward' must be 2, but is 3"),
    ("multiple", (12, 2), (1, 2), None),
    ("multiple", (10, 2), (1, 2), f"{X} of method 'forward' must be a multiple of 4, but is 10"),
    ("multiple", (20, 2), (1, 2), f"{X} of method 'forward' must be at most 16, but is 20"),
    ("same", (4, 2), (4, 2), None),
    ("same", (4, 2), (3, 2), f"{Y} of method 'forward' must be 4 where {X} is 4, but is 3"),
    ("derived", (16, 2), (4, 5), None),
    ("derived", (12, 2), (4, 5), f"{Y} of method 'forward' must be 3 where {X} is 12, but is 4"),
    ("one_more", (3, 2), (2, 2), None),
    ("one_more", (4, 2), (2, 2), f"must be 3 where {X} is 4, but is 2"),
    ("unbounded", (500, 2), (1, 2), None),
    ("unbounded", (1, 2), (1, 2), "must be at least 3, but is 1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def compiled() -> Any:
    def compile(name: Any) -> Any:
        first, second, dynamic = CASES[name]
        return rushlight.compile(
            Sum(), (torch.ones(first), torch.ones(second)), dynamic_shapes=dynamic
        ).buffer

    return {name: compile(name) for name in CASES}


def method_of(data: Any) -> Any:
    return Runtime.get().load_program(data).load_method("forward")


@pytest.mark.parametrize(("name", "x", "y", "reason"), SIZES)
def test_sizes_are_checked(compiled: Any, name: str, x: Any, y: Any, reason: Any) -> None:
    method = method_of(compiled[name])
    inputs = [torch.randn(x), torch.randn(y)]
    if reason is None:
        torch.testing.assert_close(method.execute(inputs)[0], Sum()(*inputs))
        return
    with pytest.raises(ValueError) as raised:
        method.execute(inputs)
    assert reason in str(raised.value)
    # The method works again with correct sizes.
    right = [torch.randn(size) for size in CASES[name][:2]]
    torch.testing.assert_close(method.execute(right)[0], Sum()(*right))


def test_integer_inputs_are_checked() -> None:
    program = torch.export.export(
        Rows(), (torch.randn(8, 2), 3), dynamic_shapes=(None, Dim.DYNAMIC), strict=False
    )
    method = method_of(rushlight.compile(program).buffer)
    assert method.execute([torch.ones(8, 2), 5])[0].shape == (5, 2)
    with pytest.raises(ValueError, match=r"input 1 \('n'\) of method 'forward' must be at most 8, but is 9"):
        method.execute([torch.ones(8, 2), 9])


class Checked(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        count = n.item()
        torch._check(count >= 2)
        torch._check(count <= 5)
        return x[:count] + 1


class Created(torch.nn.Module):
    def forward(self, n: torch.Tensor) -> torch.Tensor:
        return torch.ones(n.item(), 3)  # type: ignore[arg-type]


class Nonzero(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = x.nonzero()
        torch._check(places.shape[0] <= 4)
        return x[places[:, 0]] * 2


READ = [
    (Checked(), (torch.randn(8), torch.tensor(3)), 1, "of method 'forward' must be at least 2, but is 1"),
    (Checked(), (torch.randn(8), torch.tensor(3)), 6, "of method 'forward' must be at most 5, but is 6"),
    (Created(), (torch.tensor(3),), -1, "of method 'forward' must be at least 0, but is -1"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "inputs", "wrong", "reason"), READ)
def test_integers_read_from_tensors_are_checked(module: Any, inputs: Any, wrong: Any, reason: Any) -> None:
    method = method_of(rushlight.compile(module, inputs).buffer)
    with pytest.raises(ValueError, match=reason):
        method.execute([*inputs[:-1], torch.tensor(wrong)])
    for right in (2, 5):
        expected = module(*inputs[:-1], torch.tensor(right))
        torch.testing.assert_close(method.execute([*inputs[:-1], torch.tensor(right)])[0], expected)


def test_sizes_that_depend_on_data_keep_to_their_bound() -> None:
    method = method_of(rushlight.compile(Nonzero(), (torch.eye(6)[:, 0],)).buffer)
    x = torch.tensor([0.0, 1, 2, 0, 3, 4])
    torch.testing.assert_close(method.execute([x])[0], Nonzero()(x))
    with pytest.raises(
        ValueError, match=r"nonzero.* dim 0 of a tensor has at most 4 elements, but 5 are needed"
    ):
        method.execute([x + 0.5 * (torch.arange(6) == 0)])


class Attention(torch.nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = x @ x.mT + mask[:, None, :]
        return scores.softmax(-1).view(x.shape[0], -1)


def test_a_range_of_the_users_goes_before_what_tracing_found() -> None:
    b, s = Dim("b", min=1, max=4), Dim("s", min=2, max=8)
    example = torch.randn(2, 4, 3), torch.zeros(2, 4)
    compiled = rushlight.compile(Attention(), example, dynamic_shapes=({0: b, 1: s}, {0: b, 1: s}))
    inputs = [torch.randn(1, 8, 3), torch.zeros(1, 8)]
    got = method_of(compiled.buffer).execute(inputs)[0]
    torch.testing.assert_close(got, Attention()(*inputs))


def test_fixed_sizes_need_no_guards() -> None:
    compiled = rushlight.compile(Sum(), (torch.ones(2), torch.ones(3)))
    assert not any(key.startswith(KEY) for key in read_pte(compiled.buffer).named_data)


@pytest.mark.parametrize("place", [4, 8 + 16, 8 + 32, 8 + 36, 8 + 40, 8 + 44])
def test_damaged_guards_are_refused(compiled: Any, place: Any) -> None:
    file = read_pte(compiled["derived"])
    data = bytearray(file.named_data[KEY + "forward"].data)
    data[place : place + 4] = struct.pack("<I", 0xFFFFFFF0)
    file.named_data[KEY + "forward"] = NamedDataEntry(bytes(data))
    program = Runtime.get().load_program(write_pte(file))
    with pytest.raises(RuntimeError, match=r"shape guard.* damaged"):
        program.load_method("forward")


def test_damaged_guards_of_values_are_refused() -> None:
    file = read_pte(rushlight.compile(Created(), (torch.tensor(3),)).buffer)
    data = bytearray(file.named_data[KEY + "forward"].data)
    input_at = 8 + 32
    for value in (0, 0x7FFFFFFF):  # a tensor, and none
        data[input_at : input_at + 4] = struct.pack("<I", value)
        file.named_data[KEY + "forward"] = NamedDataEntry(bytes(data))
        with pytest.raises(RuntimeError, match=r"shape guard.* damaged"):
            method_of(write_pte(file))


def test_programs_without_guards_keep_their_upper_bounds(compiled: Any) -> None:
    file = read_pte(compiled["range"])
    del file.named_data[KEY + "forward"]
    method = method_of(write_pte(file))
    assert method.execute([torch.ones(2, 2), torch.ones(1, 2)])[0] == 6
    with pytest.raises(ValueError, match="at most 8"):
        method.execute([torch.ones(9, 2), torch.ones(1, 2)])


@pytest.mark.parametrize("model", [torch.nn.ReLU(), torch.nn.Linear(8, 4)])
@pytest.mark.parametrize("kernels", [False, True])
def test_static_dims_beside_a_dynamic_one(model: Any, kernels: Any) -> None:
    shapes = ({0: Dim("b", min=2, max=16)},)
    options = {"partitioner": ()} if kernels else {}
    method = rushlight.load(rushlight.compile(model, (torch.ones(4, 8),), dynamic_shapes=shapes, **options))  # type: ignore[arg-type]
    for rows in (2, 16):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(method(x), model(x))
    for columns in (7, 9, 1, 0):
        with pytest.raises(ValueError, match=rf"dim 1 of input 0 .* 8, but is {columns}"):
            method(torch.ones(4, columns))
    with pytest.raises(ValueError, match="has 2 dimensions, but the tensor given has 1"):
        method(torch.ones(8))


def test_the_ranges_of_inputs_are_described() -> None:
    dims = ({0: Dim("b", min=3, max=8)}, {0: Dim("n", min=2)})
    program = rushlight.compile(Sum(), (torch.ones(6, 2), torch.ones(4, 2)), dynamic_shapes=dims)
    meta = Runtime.get().load_program(program.buffer).load_method("forward").metadata
    assert meta.input_tensor_meta(0).description() == "float32[3..8, 2]"
    assert meta.input_tensor_meta(1).description() == "float32[2.., 2]"
