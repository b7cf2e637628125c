"""Several memories: placement of tensors, errors, and programs that run with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.ir import meta
from rushlight.memory.apply import PlanOptions, plan_memory
from rushlight.memory.check import check_plan
from rushlight.memory.exact import ExactPlanner
from rushlight.memory.hierarchy import Memory, check_memories, cost_of, plan_memories
from rushlight.memory.naive import naive
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.memory.problem import Buffer, PlanError, Problem
from rushlight.runtime import Runtime

RUNNER = Path(sys.executable).with_name("executor_runner")
KIB = 1024
SRAM, DRAM = Memory("sram", 1, 4 * KIB, cost=1.0), Memory("dram", 2, None, cost=8.0)


def test_much_used_buffers_take_the_fast_memory() -> None:
    problem = Problem.of(Buffer(i, 2 * KIB, 0, 4) for i in range(4))
    traffic = {0: 2 * KIB, 1: 64 * KIB, 2: 4 * KIB, 3: 32 * KIB}
    chosen, plan = plan_memories(problem, [DRAM, SRAM], traffic)
    check_plan(chosen, plan, {1: 4 * KIB, 2: 4 * KIB})
    assert {b.id: b.mem_id for b in chosen.buffers} == {0: 2, 1: 1, 2: 2, 3: 1}
    assert cost_of(chosen, [SRAM, DRAM], traffic) == (64 + 32) * KIB + 8 * (2 + 4) * KIB


def test_memory_that_is_free_again_is_used_again() -> None:
    problem = Problem.of(Buffer(i, 4 * KIB, 2 * i, 2 * i + 2) for i in range(5))
    chosen, plan = plan_memories(problem, [SRAM, DRAM], dict.fromkeys(range(5), KIB))
    assert plan.peaks(chosen) == {1: 4 * KIB}


@pytest.mark.parametrize("missing", [16, 1024, 3000])
def test_a_plan_that_does_not_fit_says_by_how_much(missing: int) -> None:
    large = [Buffer(0, 4 * KIB, 0, 2, name="weights"), Buffer(1, 3 * KIB, 0, 2, name="image")]
    problem = Problem.of([*large, Buffer(2, 64, 0, 1, name="small")])
    # The image is in the fast memory, and the rest in the slow one, which is too small by `missing` bytes.
    sram = Memory("sram", 1, 3 * KIB, cost=1.0)
    dram = Memory("dram", 2, 4 * KIB + 64 - missing, cost=8.0)
    with pytest.raises(PlanError) as raised:
        plan_memories(problem, [sram, dram], {0: 1, 1: 10 * KIB, 2: 0})
    text = str(raised.value)
    assert f"'dram' has {dram.size:,} bytes" in text and f"{missing:,} bytes more are needed" in text
    assert text.index("(weights) 4,096 bytes") < text.index("(image) 3,072 bytes")


def test_buffers_stay_on_their_device() -> None:
    problem = Problem.of(Buffer(i, KIB, 0, 2) for i in range(2))
    npu = Memory("npu", 3, 2 * KIB, cost=0.5, device=(1, 0))
    chosen, _ = plan_memories(problem, [SRAM, DRAM, npu], {0: 1, 1: 1}, devices={1: (1, 0)})
    assert [b.mem_id for b in chosen.buffers] == [1, 3]
    with pytest.raises(PlanError, match="needs a memory of the device 2:0; the memories are"):
        plan_memories(problem, [SRAM, DRAM, npu], {}, devices={1: (2, 0)})


def test_a_fixed_memory_is_respected() -> None:
    problem = Problem.of([Buffer(0, KIB, 0, 2)])
    chosen, _ = plan_memories(problem, [SRAM, DRAM], {0: KIB}, fixed={0: 2})
    assert chosen.buffers[0].mem_id == 2


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Memory("m", 0), "ids start at 1"),
        (lambda: Memory("m", 1, -1), "size -1"),
        (lambda: Memory("m", 1, cost=-1), "a cost is 0 or more"),
        (lambda: Memory("m", 1, cost=float("nan")), "a cost is 0 or more"),
        (lambda: check_memories([SRAM, Memory("other", 1)]), "the id 1"),
        (lambda: check_memories([SRAM, Memory("sram", 2)]), "the name 'sram'"),
        (lambda: MemoryPlanningPass(naive, memories=[SRAM]), "memories has no effect"),
        (lambda: MemoryPlanningPass(share_mutable_buffers=True, memories=[SRAM]), "cannot be used"),
        (
            lambda: ExecutorchBackendConfig(
                memory_planning_pass=MemoryPlanningPass(naive), memories=[SRAM]
            ).check(),
            "memories has no effect",
        ),
    ],
)
def test_wrong_memories_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_memory_that_is_full_as_it_was_filled_is_not_planned_anew() -> None:
    # With decreasing sizes, the 65 bytes come first, and the 2 bytes after them end at 194.
    buffers = [Buffer(0, 2, 0, 1, alignment=64), Buffer(1, 2, 0, 1, alignment=64)]
    problem = Problem.of([*buffers, Buffer(2, 65, 0, 1, alignment=64)])
    chosen, plan = plan_memories(problem, [Memory("a", 1, 193, 0), Memory("b", 2, 500)], {0: 9, 1: 9, 2: 1})
    assert {buffer.mem_id for buffer in chosen.buffers} == {1}
    check_plan(chosen, plan, {1: 193})


@st.composite
def problems(draw: Any) -> tuple[Problem, list[Memory], dict[int, int]]:
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 600), st.integers(0, 12), st.integers(1, 6)), min_size=1, max_size=25
        )
    )
    alignment = draw(st.sampled_from([1, 16, 64]))
    buffers = [Buffer(i, size, a, a + n, alignment=alignment) for i, (size, a, n) in enumerate(rows)]
    sizes = draw(st.lists(st.integers(0, 2000), max_size=2))
    memories = [
        Memory(f"m{i}", i + 1, size, cost=float(draw(st.integers(0, 9)))) for i, size in enumerate(sizes)
    ]
    memories.append(Memory("last", 5, draw(st.sampled_from([None, 500, 3000])), cost=10.0))
    return Problem.of(buffers), memories, {i: draw(st.integers(0, 5000)) for i in range(len(rows))}


@settings(max_examples=150, deadline=None)
@given(problems())
def test_plans_pass_the_checker_or_are_refused(case: tuple[Problem, list[Memory], dict[int, int]]) -> None:
    problem, memories, traffic = case
    capacities = {m.id: sys.maxsize if m.size is None else m.size for m in memories}
    try:
        chosen, plan = plan_memories(problem, memories, traffic, planner=ExactPlanner(0.02))
    except PlanError as error:
        assert memories[-1].size is not None and "does not fit" in str(error)
        return
    check_plan(chosen, plan, capacities)
    assert cost_of(chosen, memories, traffic) <= sum(traffic.values()) * max(m.cost for m in memories)


def test_the_graph_gets_the_memories(builder: Any) -> None:
    g = builder()
    node = g.input("x", [32, 32])
    for _ in range(3):
        node = g.mm(node, node)
    graph = g.output(node)
    report = plan_memory(graph, options=PlanOptions(memories=(SRAM, DRAM)))
    sizes = meta.get_planned_sizes(graph)
    assert sizes == [0, 4 * KIB, 8 * KIB]
    assert "memory 1 is sram (4,096 bytes): nodes read and write" in str(report)


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mm(x, x)
        z = torch.mm(y, x).tanh()
        return torch.cat([torch.mm(z, y), x]).sum(0)


def two_memories(sram: int) -> tuple[bytes, torch.Tensor]:
    x = torch.randn(48, 48)
    memories = [rushlight.Memory("sram", 1, sram, cost=1.0), rushlight.Memory("dram", 2, cost=8.0)]
    program = rushlight.compile(Net(), (x,), partitioner=(), memories=memories)
    return program.buffer, x


def assert_like_eager(buffer: bytes, x: torch.Tensor) -> None:
    result = torch.as_tensor(rushlight.load(buffer)(x))
    torch.testing.assert_close(result, Net()(x), rtol=1e-4, atol=1e-3)


def test_a_program_with_two_memories_runs(tmp_path: Path) -> None:
    buffer, x = two_memories(20 * KIB)
    sizes = Runtime.get().load_program(buffer).metadata("forward").planned_sizes()
    assert len(sizes) == 2 and 0 < sizes[0] <= 20 * KIB and sizes[1] > 0
    assert_like_eager(buffer, x)
    file = tmp_path / "net.pte"
    file.write_bytes(buffer)
    run = subprocess.run([str(RUNNER), "--model_path", str(file)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_program_that_needs_no_fast_memory_runs() -> None:
    """The fast memory is too small for any tensor. It is empty, and the slow memory keeps its number."""
    buffer, x = two_memories(64)
    assert_like_eager(buffer, x)


def test_compile_refuses_what_does_not_fit() -> None:
    with pytest.raises(PlanError, match="bytes more are needed.*largest tensors"):
        rushlight.compile(
            Net(), (torch.randn(48, 48),), partitioner=(), memories=[Memory("sram", 1, 20 * KIB)]
        )
