"""The data of constants: memory order, equal contents, several methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.emit.constants import ConstantBuffers, Pool, tensor_bytes
from rushlight.exir import to_edge
from rushlight.runtime import Runtime


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6, dtype=torch.float32).reshape(2, 3),
        torch.arange(6, dtype=torch.bfloat16)[2:],
        torch.tensor(True),
        torch.tensor([], dtype=torch.int64),
        torch.arange(24, dtype=torch.int16).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    ],
    ids=str,
)
def test_bytes_are_in_memory_order(tensor: Any) -> None:
    flat = tensor.permute(0, 2, 3, 1) if tensor.dim() == 4 else tensor
    expected = flat.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    assert bytes(tensor_bytes(tensor)) == expected


class Scaled(torch.nn.Module):
    """Multiplies by a parameter and by the number of calls, which is a buffer."""

    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([2.0, 3.0]))
        self.register_buffer("calls", torch.tensor(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return x * self.scale * self.calls


@pytest.mark.parametrize("partitioner", [(), None], ids=["kernels", "cpu"])
def test_later_changes_of_the_model_do_not_change_the_program(partitioner: Any) -> None:
    module, x = Scaled(), torch.ones(2)
    program = rushlight.compile(module, (x,), partitioner=partitioner)
    with torch.no_grad():
        module(x)
        module.scale.zero_()
    assert rushlight.load(program.buffer)(x).tolist() == [12.0, 18.0]


def test_equal_content_is_stored_once() -> None:
    pool = Pool()
    first, other = pool.add(memoryview(b"abcd")), pool.add(memoryview(b"abcx"))
    assert (first, other) == (1, 2)
    assert pool.add(memoryview(bytearray(b"abcd"))) == first
    assert pool.add(memoryview(b"abcde")) == 3
    assert [bytes(item) for item in pool.items] == [b"", b"abcd", b"abcx", b"abcde"]


def test_delegates_share_equal_data() -> None:
    constants = ConstantBuffers()
    indices = [constants.add_delegate(memoryview(data)) for data in (b"x", b"y", b"x")]
    assert indices == [0, 1, 0] and len(constants.delegates) == 2


def test_the_program_shows_its_data_and_what_lies_outside() -> None:
    linear = torch.nn.Linear(3, 2)
    edge = to_edge(torch.export.export(linear, (torch.ones(1, 3),)))
    program = edge.to_executorch().executorch_program
    assert {24, 8} == {len(buffer.storage) for buffer in program.constant_buffer[1:]}
    outside = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
    output = outside._emitter_output
    assert len(output.program.constant_buffer) == 1
    (places,) = output.external_constant_map.values()
    weight = output.external_constant_buffer[places["weight"]]
    assert weight == linear.weight.detach().numpy().tobytes()


def test_tensors_of_two_methods_with_one_name_have_entries_of_their_own(tmp_path: Path) -> None:
    first, second, x = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2), torch.randn(1, 3)
    models = {"first": first, "second": second, "third": first}
    edge = to_edge({name: torch.export.export(model, (x,)) for name, model in models.items()})
    manager = edge.to_executorch(ExecutorchBackendConfig(external_constants=lambda node: "weights"))
    (places,) = manager._emitter_output.external_constant_map.values()
    assert places.keys() == {"weight", "bias", "weight@second", "bias@second"}
    manager.save(tmp_path / "model.pte")
    manager.write_tensor_data_to_file(tmp_path)
    program = Runtime.get().load_program(tmp_path / "model.pte", data_path=tmp_path / "weights.ptd")
    for name, model in models.items():
        torch.testing.assert_close(program.load_method(name).execute([x])[0], model(x))


class FromNegativeZero(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((3,), -0.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = 1 / self.total
        self.total.add_(x)
        return before


def test_a_buffer_of_negative_zeros_keeps_its_sign() -> None:
    x = torch.ones(3)
    for partitioner in (None, ()):
        module = rushlight.load(rushlight.compile(FromNegativeZero(), (x,), partitioner=partitioner).buffer)
        torch.testing.assert_close(module(x), torch.full((3,), -torch.inf))
