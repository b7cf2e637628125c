"""Writes a memory plan as a trace for Chrome's trace viewer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch.fx import Graph, Node

from rushlight.ir import memory_ops, meta
from rushlight.ir.json_types import JsonObject
from rushlight.ir.spec import TensorSpec


def generate_memory_trace(
    executorch_program_manager: Any,
    chrome_trace_filename: str | Path,
    enable_memory_offsets: bool = False,
    method_name: str = "forward",
    ommit_metadata: bool = False,
) -> None:
    """Writes the tensors of a planned program as a trace for chrome://tracing or Perfetto.

    Each process of the trace is a memory, and each thread is a step. The time axis shows offsets: one
    microsecond is one byte.

    Args:
        executorch_program_manager: the program.
        chrome_trace_filename: the path of the file to write.
        enable_memory_offsets: show the tensors at their planned offsets, instead of one after the other.
        method_name: the name of the method.
        ommit_metadata: do not write the details of each tensor.

    Raises:
        ValueError: the first argument is not a program manager of this compiler, or its memory is not
            planned.
    """
    if not hasattr(executorch_program_manager, "executorch_program"):
        raise ValueError(
            f"a memory trace needs an ExecutorchProgramManager, not {type(executorch_program_manager)}"
        )
    graph = executorch_program_manager.exported_program(method_name).graph
    if not any(node.target is memory_ops.alloc for node in graph.nodes):
        raise ValueError(f"the memory of method {method_name!r} is not planned")
    events: list[JsonObject] = []
    ends: dict[int, int] = {}
    for node, spec in _planned(graph):
        first, last = spec.lifetime
        if first is None or last is None:
            continue
        for step in range(first, last + 1):
            start = ends.get(step, 0)
            ends[step] = start + spec.nbytes()
            events.append(
                {
                    "name": node.name,
                    "cat": "memory_allocation",
                    "ph": "X",
                    "ts": spec.mem_offset if enable_memory_offsets else start,
                    "dur": spec.nbytes(),
                    "pid": spec.mem_id,
                    "tid": step,
                    "args": {} if ommit_metadata else _facts(node, spec),
                }
            )
    events.sort(key=lambda event: event["tid"])
    Path(chrome_trace_filename).write_text(json.dumps({"traceEvents": events}, indent=2))


def _planned(graph: Graph) -> list[tuple[Node, TensorSpec]]:
    """Returns all planned tensors, each with the node that computes it."""
    found: dict[int, tuple[Node, TensorSpec]] = {}
    for node in graph.nodes:
        if node.op == "output" or node.target in (memory_ops.alloc, memory_ops.view):
            continue
        spec = meta.get_spec(node)
        for item in spec if isinstance(spec, (list, tuple)) else (spec,):
            if isinstance(item, TensorSpec) and item.mem_id is not None and not item.const:
                found.setdefault(id(item), (node, item))
    return list(found.values())


def _facts(node: Node, spec: TensorSpec) -> JsonObject:
    source = meta.source_of(node)
    return {
        "op_name": str(node.target),
        "Memory ID": spec.mem_id,
        "fqn": meta.module_path_of(node) or "",
        "source": "" if source is None else str(source),
        "bytes": spec.nbytes(),
    }
