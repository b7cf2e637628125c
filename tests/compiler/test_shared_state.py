"""Buffers that several methods share are one state. Each method has its own copy of other buffers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import ExportedProgram, export

from rushlight.exir import ExecutorchBackendConfig, to_edge
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.memory.problem import PlanError
from rushlight.runtime import Program, Runtime


class Memory(torch.nn.Module):
    """Both modules share `total` under different names. Each has its own `calls`."""

    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0]))


class Write(torch.nn.Module):
    calls: torch.Tensor

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self.register_buffer("calls", torch.tensor([10.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.memory.total.add_(x)
        self.calls.add_(1)
        return self.calls * 1


class Read(torch.nn.Module):
    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.nested = torch.nn.ModuleList([memory])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.nested[0].total * 2) + x  # type: ignore[operator]


def programs(own: bool = False) -> dict[str, ExportedProgram]:
    memory = Memory()
    x = (torch.zeros(2),)
    other = Memory() if own else memory
    return {
        "write": export(Write(memory), x),
        "read": export(Read(other), x),
        "more": export(Write(memory), x),
    }


def load(methods: dict[str, ExportedProgram], **config: Any) -> Program:
    manager = to_edge(methods).to_executorch(ExecutorchBackendConfig(**config))
    return Runtime.get().load_program(manager.buffer)


def call(program: Program, name: str, *values: float) -> list[float]:
    return program.load_method(name).execute([torch.tensor(values, dtype=torch.float32)])[0].tolist()


def test_one_tensor_is_one_state() -> None:
    program = load(programs())
    methods = {name: program.load_method(name) for name in ("read", "write", "more")}

    def run(name: str, *values: float) -> list[float]:
        return methods[name].execute([torch.tensor(values, dtype=torch.float32)])[0].tolist()

    assert run("read", 0, 0) == [2, 4]
    assert run("write", 1, 1) == [11]
    assert run("read", 0, 0) == [4, 6]
    assert run("more", 0, 5) == [11]
    assert run("write", 0, 0) == [12]
    assert run("read", 1, 0) == [5, 16]


class ReadView(Read):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = self.nested[0].total.view(1, 2)  # type: ignore[operator]
        return (total * 2)[0] + x


@pytest.mark.parametrize("order", [("read", "write"), ("write", "read")])
def test_state_that_is_read_through_a_view(order: tuple[str, str]) -> None:
    memory = Memory()
    x = (torch.zeros(2),)
    program = load({"write": export(Write(memory), x), "read": export(ReadView(memory), x)})
    methods = {name: program.load_method(name) for name in order}
    assert methods["read"].execute([torch.zeros(2)])[0].tolist() == [2, 4]
    methods["write"].execute([torch.tensor([3.0, 3.0])])
    assert methods["read"].execute([torch.zeros(2)])[0].tolist() == [8, 10]


def test_a_reader_through_a_view_alone() -> None:
    memory = Memory()
    x = (torch.zeros(2),)
    program = load({"write": export(Write(memory), x), "read": export(ReadView(memory), x)})
    assert call(program, "read", 0, 0) == [2, 4]


def test_a_view_is_read_before_its_base_is_written() -> None:
    class Accumulate(Memory):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            before = self.total.view(1, 2) * 2
            self.total.add_(x)
            return before[0] + 0

    program = load({"forward": export(Accumulate(), (torch.zeros(2),))})
    assert call(program, "forward", 3, 3) == [2, 4]
    assert call(program, "forward", 0, 0) == [8, 10]


def test_a_method_loaded_later_finds_what_was_written() -> None:
    program = load(programs())
    writer = program.load_method("write")
    writer.execute([torch.tensor([3.0, 3.0])])
    assert call(program, "read", 0, 0) == [8, 10]


def test_every_program_that_is_loaded_starts_anew() -> None:
    methods = programs()
    first = load(methods)
    first.load_method("write").execute([torch.tensor([3.0, 3.0])])
    assert call(load(methods), "read", 0, 0) == [2, 4]


def test_equal_names_of_other_tensors_are_not_shared() -> None:
    program = load(programs(own=True))
    program.load_method("write").execute([torch.tensor([3.0, 3.0])])
    assert call(program, "read", 0, 0) == [2, 4]


def test_shared_by_name_when_asked() -> None:
    class Counter(torch.nn.Module):
        n: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.n.add_(x)
            return self.n * 1

    methods = {name: export(Counter(), (torch.ones(1),)) for name in ("a", "b")}
    program = load(methods, memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    a, b = program.load_method("a"), program.load_method("b")
    results = [m.execute([torch.tensor([v])])[0].item() for m, v in ((a, 1.0), (b, 2.0), (a, 4.0))]
    assert results == [1, 3, 7]


class Rows(torch.nn.Module):
    """Reads or writes a part of `total`, which is another tensor with the same storage."""

    part: torch.Tensor

    def __init__(self, memory: Memory, write: bool) -> None:
        super().__init__()
        self.register_buffer("part", memory.total[1:])
        self.write = write

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.write:
            self.part.add_(x[:1])
        return self.part * 1


@pytest.mark.parametrize("by_name", [False, True])
def test_parts_of_one_tensor_are_one_state(by_name: bool) -> None:
    memory = Memory()
    x = (torch.zeros(2),)
    methods = {
        "write": export(Write(memory), x),
        "read_part": export(Rows(memory, False), x),
        "write_part": export(Rows(memory, True), x),
        "read": export(ReadView(memory), x),
    }
    program = load(methods, memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=by_name))
    assert call(program, "read_part", 0, 0) == [2]
    call(program, "write", 1, 1)
    assert call(program, "read_part", 0, 0) == [3]
    assert call(program, "write_part", 4, 0) == [7]
    assert call(program, "read", 0, 0) == [4, 14]


def test_a_method_that_only_reads_state_shared_by_name() -> None:
    """A view of the buffer is not computed ahead of time."""
    memory, other, x = Memory(), Memory(), (torch.zeros(2),)
    methods = {"write": export(Write(memory), x), "read": export(ReadView(other), x)}
    methods["read"]._state_dict = {"memory.total": other.total}
    methods["read"].graph_signature.input_specs[0].target = "memory.total"
    program = load(methods, memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    call(program, "write", 3, 3)
    assert call(program, "read", 0, 0) == [8, 10]


def test_different_buffers_of_one_name_cannot_be_shared() -> None:
    class Cache(torch.nn.Module):
        cache: torch.Tensor

        def __init__(self, size: int) -> None:
            super().__init__()
            self.register_buffer("cache", torch.zeros(size))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.cache.add_(x)
            return self.cache * 1

    methods = {f"m{size}": export(Cache(size), (torch.ones(1),)) for size in (8, 64)}
    with pytest.raises(PlanError, match=r"cache, because it is float32\[64\] and float32\[8\]"):
        load(methods, memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    assert len(load(methods).method_names) == 2


@pytest.mark.parametrize("sizes", [1, 3])
def test_planned_sizes_name_the_shared_memory(sizes: int) -> None:
    methods = programs() if sizes == 3 else {"write": programs()["write"]}
    plans = to_edge(methods).to_executorch().executorch_program.execution_plan
    assert {len(plan.non_const_buffer_sizes) for plan in plans} == {3 if sizes == 3 else 2}
