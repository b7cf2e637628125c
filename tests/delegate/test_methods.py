"""Several methods in one program are lowered together, and share data and state."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.delegate.support import assert_close, backends, load, needs_xnnpack, outputs_of
from torch import nn
from torch.export import ExportedProgram, export

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compat.canonical_partitioners import AllNodePartitioner
from rushlight.compiler.to_backend import to_backend
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.constants import tag_constant_data, tag_mutated_buffer
from rushlight.delegate.lowering import MethodProgramsPartitionerSpec
from rushlight.delegate.named_data import NamedDataStore
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.format.pte import read_pte
from rushlight.ir import meta
from rushlight.ir.errors import CompileError
from rushlight.runtime import Runtime

SEEN: list[dict[str, list[tuple[int, list[CompileSpec]]]]] = []


class TogetherBackend(BackendDetails):
    """Compiles all methods together. All its parts read the same data."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        raise AssertionError("preprocess_multimethod is called instead")

    @classmethod
    def preprocess_multimethod(
        cls,
        edge_programs: dict[str, list[ExportedProgram]],
        compile_specs: dict[str, list[list[CompileSpec]]],
    ) -> dict[str, list[PreprocessResult]]:
        SEEN.append(
            {
                name: [
                    (len(p.graph_signature.parameters), s)
                    for p, s in zip(of, compile_specs[name], strict=True)
                ]
                for name, of in edge_programs.items()
            }
        )
        results: dict[str, list[PreprocessResult]] = {}
        for name, programs in edge_programs.items():
            results[name] = []
            for index, _ in enumerate(programs):
                store = NamedDataStore()
                store.add_named_data("together", bytes(range(256)), alignment=64)
                store.add_named_data(f"{name}.{index}", name.encode())
                output = store.get_named_data_store_output()
                results[name].append(PreprocessResult(f"{name} {index}".encode(), data_store_output=output))
        return results


class SplitPartitioner(Partitioner):
    """Makes a part for every operator except cumsum. The compile spec is the number of the part."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags: dict[str, DelegationSpec] = {}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and "cumsum" not in str(node.target):
                spec = CompileSpec("number", bytes([len(tags)]))
                meta.set_delegation_tag(node, f"part_{len(tags)}")
                tags[f"part_{len(tags)}"] = DelegationSpec("TogetherBackend", [spec])
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


class Second(nn.Module):
    def __init__(self, shared: Shared) -> None:
        super().__init__()
        self.shared = shared

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.cumsum(self.shared.linear(x), 0)) - x


X = torch.randn(2, 64)


@pytest.fixture(scope="module")
def models() -> dict[str, nn.Module]:
    shared = Shared().eval()
    return {"forward": shared, "second": Second(shared).eval()}


def test_one_backend_sees_all_methods(models: dict[str, nn.Module]) -> None:
    SEEN.clear()
    edge = to_edge({name: export(model, (X,)) for name, model in models.items()})
    together = edge.to_backend(SplitPartitioner())
    assert len(SEEN) == 1
    numbers = {name: [specs[0].value[0] for _, specs in of] for name, of in SEEN[0].items()}
    assert numbers["forward"] == list(range(3))  # permute, addmm, relu
    assert sorted(numbers["second"]) == list(range(4))  # permute, addmm, tanh, sub
    file = read_pte(bytes(together.to_executorch().buffer))
    assert bytes(file.named_data["together"].data) == bytes(range(256))
    assert len(file.named_data) == 1 + 3 + 4
    payloads = [bytes(item) for item in file.delegate_data]
    assert sorted(payloads) == [
        f"{name} {i}".encode() for name, n in (("forward", 3), ("second", 4)) for i in range(n)
    ]


def test_partitioners_by_method(models: dict[str, nn.Module]) -> None:
    edge = to_edge({name: export(model, (X,)) for name, model in models.items()})
    programs = {name: edge.exported_program(name) for name in models}
    chosen = {"second": AllNodePartitioner("TogetherBackend", [])}
    lowered = to_backend(MethodProgramsPartitionerSpec(programs, chosen))
    assert lowered["forward"] is programs["forward"]
    assert backends(lowered["second"].graph_module) == ["TogetherBackend"]
    with pytest.raises(CompileError, match="method third has a partitioner but no program"):
        to_backend(MethodProgramsPartitionerSpec(programs, {"third": chosen["second"]}))


@needs_xnnpack
@pytest.mark.parametrize("partitioner", [XnnpackPartitioner, CpuPartitioner])
def test_weights_in_common_are_stored_once(
    partitioner: type[Partitioner], models: dict[str, nn.Module]
) -> None:
    exported = {name: export(model, (X,)) for name, model in models.items()}
    edge = to_edge_transform_and_lower(exported, partitioner=[partitioner()])
    buffer = bytes(edge.to_executorch().buffer)
    assert len(buffer) < 1.5 * 64 * 64 * 4
    for name, model in models.items():
        assert_close(outputs_of(load(buffer, name), (X,)), model(X))


class Memory(nn.Module):
    total: torch.Tensor
    factor: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([[1.0, 2.0]]))
        self.register_buffer("factor", torch.tensor([3.0, 5.0]))


class Write(nn.Module):
    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.memory.total.add_(x)
        return self.memory.total * self.memory.factor


class Read(nn.Module):
    """Reads the buffer that the other method writes, under another name, also as the bias of a layer."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.nested = memory
        self.weight = nn.Parameter(torch.randn(2, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(self.nested.total * 2) + torch.relu(x) * self.nested.factor
        return nn.functional.linear(y, self.weight, self.nested.total)


class Greedy(Partitioner):
    """Selects every operator with all possible constants and state."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        for node in exported_program.graph.nodes:
            if node.op == "call_function":
                meta.set_delegation_tag(node, "all")
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, {"all": DelegationSpec("TogetherBackend", [])})


def _exported(memory: Memory) -> dict[str, ExportedProgram]:
    x = torch.randn(1, 2)
    return {"write": export(Write(memory), (x,)), "read": export(Read(memory), (x,))}


@needs_xnnpack
@pytest.mark.parametrize("partitioner", [XnnpackPartitioner, CpuPartitioner])
def test_state_that_another_method_writes_is_no_constant(partitioner: type[Partitioner]) -> None:
    memory = Memory()
    models = {"write": Write(memory), "read": Read(memory)}
    x = torch.tensor([[0.5, -0.25]])
    exported = {name: export(model, (x,)) for name, model in models.items()}
    edge = to_edge_transform_and_lower(exported, partitioner=[partitioner()])
    program = Runtime.get().load_program(bytes(edge.to_executorch().buffer))
    methods = {name: program.load_method(name) for name in models}
    for _ in range(3):
        for name, model in models.items():
            assert_close(outputs_of(methods[name], (x,)), model(x))


def test_state_of_several_methods_stays_with_the_program() -> None:
    edge = to_edge(_exported(Memory())).to_backend(Greedy())
    for name in ("write", "read"):
        signature = edge.exported_program(name).graph_signature
        assert [target.split(".")[-1] for target in signature.buffers] == ["total"]
    alone = to_edge(_exported(Memory())["write"]).to_backend(Greedy())
    assert alone.exported_program().graph_signature.buffers == ()


class FirstBackend(BackendDetails):
    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        (results,) = edge_program.graph.output_node().args
        assert isinstance(results, list)
        return PreprocessResult(compile_specs[0].value)


class SecondBackend(BackendDetails):
    preprocess = FirstBackend.preprocess


class AlternatingPartitioner(Partitioner):
    """Makes four parts for two backends, with the tags of the last nodes first."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        nodes = [node for node in exported_program.graph.nodes if node.op == "call_function"]
        tags: dict[str, DelegationSpec] = {}
        for index in reversed(range(4)):
            meta.set_delegation_tag(nodes[index], str(index))
            backend = "SecondBackend" if index % 2 else "FirstBackend"
            tags[str(index)] = DelegationSpec(backend, [CompileSpec("index", bytes([index]))])
        return PartitionResult(exported_program, tags)


@pytest.mark.parametrize(
    ("lower", "numbers"),
    [
        (lambda p: to_backend(to_edge(p).exported_program(), AlternatingPartitioner()), [3, 2, 1, 0]),
        (lambda p: to_edge(p).to_backend(AlternatingPartitioner()).exported_program(), [2, 0, 3, 1]),
    ],
)
def test_lowered_modules_have_the_numbers_of_executorch(
    lower: Callable[[ExportedProgram], ExportedProgram], numbers: list[int]
) -> None:
    """ExecuTorch numbers them in the order of the tags, or backend by backend, with the first tag's first."""

    class Chain(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(torch.cos(torch.sin(torch.relu(x))))

    program = lower(export(Chain(), (torch.randn(3),)))
    calls = [node for node in program.graph.nodes if "call_delegate" in node.name]
    assert [node.args[0].target for node in calls] == [f"lowered_module_{number}" for number in numbers]
    suffixes = [f"_{number}" if number else "" for number in numbers]
    assert [node.name for node in calls] == [f"executorch_call_delegate{suffix}" for suffix in suffixes]
    modules = [getattr(program.graph_module, node.args[0].target) for node in calls]
    assert [module.processed_bytes for module in modules] == [bytes([index]) for index in range(4)]
