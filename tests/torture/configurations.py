"""Configurations: quantizers and options of the compilation."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir.constants import Constants
from rushlight.memory.hierarchy import Memory
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.quantize import (
    dynamic_int8,
    dynamic_int8_weight_int4,
    quantize,
    static_int8,
    weight_only_int4,
    weight_only_int8,
)

THREADS = (1, 2)

_ARGUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "kernels": lambda: {"partitioner": ()},
    "default": dict,
    "high": lambda: {"float32_matmul_precision": "high"},
    "xnnpack": lambda: {"partitioner": [XnnpackPartitioner()]},
}

NAMES = tuple(_ARGUMENTS)

TEXT = {
    "kernels": ", partitioner=()",
    "default": "",
    "high": ', float32_matmul_precision="high"',
    "xnnpack": ", partitioner=[XnnpackPartitioner()]",
}
"""The source of the arguments of `rushlight.compile` after the program, by configuration."""


_QUANTIZERS: dict[str, Callable[[], Any]] = {
    "cpu static_int8()": lambda: CpuQuantizer().set_global(static_int8()),
    "cpu static_int8(per_channel=False)": lambda: CpuQuantizer().set_global(static_int8(per_channel=False)),
    "cpu dynamic_int8()": lambda: CpuQuantizer().set_global(dynamic_int8()),
    "cpu dynamic_int8(per_token=True)": lambda: CpuQuantizer().set_global(dynamic_int8(per_token=True)),
    "cpu weight_only_int8()": lambda: CpuQuantizer().set_global(weight_only_int8()),
    "cpu weight_only_int4(group_size=32)": lambda: CpuQuantizer().set_global(weight_only_int4(group_size=32)),
    "cpu dynamic_int8_weight_int4(group_size=32)": lambda: CpuQuantizer().set_global(
        dynamic_int8_weight_int4(group_size=32)
    ),
    "xnnpack static": lambda: XNNPACKQuantizer().set_global(get_symmetric_quantization_config()),
    "xnnpack per channel": lambda: XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True)
    ),
    "xnnpack dynamic": lambda: XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    ),
    "xnnpack 4 bits": lambda: XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True, weight_qmin=-8, weight_qmax=7)
    ),
}

QUANTIZERS = tuple(_QUANTIZERS)

_XNNPACK = {
    "static": "",
    "per channel": "is_per_channel=True",
    "dynamic": "is_per_channel=True, is_dynamic=True",
    "4 bits": "is_per_channel=True, weight_qmin=-8, weight_qmax=7",
}

QUANTIZER_TEXT = {
    name: f"CpuQuantizer().set_global({name.removeprefix('cpu ')})"
    if name.startswith("cpu")
    else "XNNPACKQuantizer().set_global("
    f"get_symmetric_quantization_config({_XNNPACK[name.removeprefix('xnnpack ')]}))"
    for name in QUANTIZERS
}
"""The source of each quantizer."""


class _SomeNodes(CpuPartitioner):
    """Delegates two thirds of the nodes, so that plans and kernels exchange values.

    Constants stay in the partitions of the operators that need them.
    """

    def _supported_nodes(self, graph: Graph, constants: Constants) -> set[Node]:
        return {
            n
            for n in super()._supported_nodes(graph, constants)
            if zlib.crc32(n.name.encode()) % 3 or constants.is_constant(n)
        }


def _some_nodes(program: ExportedProgram) -> bytes:
    return bytes(rushlight.compile(program, partitioner=[_SomeNodes()]).buffer)


def _caller_memory(program: ExportedProgram) -> bytes:
    """The plan has no memory for inputs and outputs, and reorders nodes."""
    plan = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False, reorder=True)
    config = ExecutorchBackendConfig(memory_planning_pass=plan, run_reinplace_pass=True)
    return bytes(rushlight.compile(program, partitioner=(), backend_config=config).buffer)


def _two_memories(program: ExportedProgram) -> bytes:
    """A small fast memory and a large one."""
    memories = (Memory("fast", 1, 4096), Memory("slow", 2, cost=4.0))
    return bytes(rushlight.compile(program, memories=memories).buffer)


def _shared_buffers(program: ExportedProgram) -> bytes:
    """Mutable buffers are in memory 2, and views are copies."""
    plan = MemoryPlanningPass(share_mutable_buffers=True)
    config = ExecutorchBackendConfig(memory_planning_pass=plan, remove_view_copy=False)
    return bytes(rushlight.compile(program, partitioner=(), backend_config=config).buffer)


def _to_edge(program: ExportedProgram) -> bytes:
    edge = to_edge(program, compile_config=EdgeCompileConfig(core_aten_only=False))
    return bytes(edge.to_backend(CpuPartitioner()).to_executorch().buffer)


def _saved(program: ExportedProgram) -> bytes:
    file = io.BytesIO()
    try:
        torch.export.save(program, file)
        file.seek(0)
        loaded = torch.export.load(file)
        loaded.run_decompositions({})
        program = loaded
    except Exception:  # Torch cannot save, load or decompose some programs.
        pass
    return bytes(rushlight.compile(program).buffer)


def _plain_kernels(program: ExportedProgram) -> bytes:
    """Kernels alone, from a graph without optimizations."""
    config = ExecutorchBackendConfig(optimize=False, remove_view_copy=False)
    edge = to_edge(program, compile_config=EdgeCompileConfig(core_aten_only=False))
    return bytes(edge.to_executorch(config).buffer)


_FURTHER: dict[str, Callable[[ExportedProgram], bytes]] = {
    "some nodes": _some_nodes,
    "caller memory": _caller_memory,
    "two memories": _two_memories,
    "shared buffers": _shared_buffers,
    "to_edge": _to_edge,
    "saved": _saved,
    "plain kernels": _plain_kernels,
}

FURTHER = tuple(_FURTHER)


def further_of(seed: int, index: int, quantizer: str) -> str:
    """Returns the additional configuration of a case."""
    fitting = FURTHER[1:] if quantizer else FURTHER  # A quantized operator and its parameters are one part.
    return fitting[zlib.crc32(f"{seed}/{index}".encode()) % len(fitting)]


def configurations_of(quantizer: str) -> tuple[str, ...]:
    """Returns the configurations for programs of a quantizer."""
    if quantizer.startswith("cpu"):
        return ("kernels", "default", "high")
    return ("kernels", "xnnpack") if quantizer else NAMES


def quantized(program: ExportedProgram, quantizer: str, data: list[tuple[Any, ...]]) -> ExportedProgram:
    """Quantizes a program after calibration with data."""
    return quantize(program, None, _QUANTIZERS[quantizer](), data)


def compile_program(program: ExportedProgram, configuration: str) -> bytes:
    """Compiles a program in a configuration, and returns the bytes of the .pte file."""
    if configuration in _FURTHER:
        return _FURTHER[configuration](program)
    return bytes(rushlight.compile(program, **_ARGUMENTS[configuration]()).buffer)
