"""The ahead-of-time part of XnnpackBackend."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram
from torch.fx import Node
from typing_extensions import override

from rushlight.backends.xnnpack.builder import GraphBuilder
from rushlight.backends.xnnpack.emitters import emit
from rushlight.backends.xnnpack.nodes import SupportContext
from rushlight.backends.xnnpack.payload import write_payload
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.constants import ConstantFiles
from rushlight.delegate.named_data import NamedDataStore
from rushlight.ir.errors import CompileError


@final
class XnnpackBackend(BackendDetails):
    """Compiles partitions for XNNPACK. Constants become named data, and equal constants are stored once.

    The identifiers in the debug handle map are the debug handles of the nodes in the payload. Each identifier
    maps to the debug handles of the operators that the node computes.
    """

    @staticmethod
    @override
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        store = NamedDataStore()
        builder = GraphBuilder(SupportContext(edge_program, enable_bf16=True, dynamic_weights=True), store)
        files = ConstantFiles(edge_program)
        outputs: list[Node] = []
        for node in edge_program.graph.nodes:
            if node.op == "placeholder":
                if not builder.context.is_constant(node):
                    builder.add_input(node)
            elif node.op == "output":
                outputs = list(node.args[0])
            elif node.op == "call_function":
                builder.file = files.of((node,))
                emit(builder, node)
            else:
                raise CompileError(f"a delegate of XNNPACK cannot contain node {node.name} of kind {node.op}")
        graph = builder.finish(outputs)
        handles = builder.debug_handles(edge_program.graph.nodes)
        return PreprocessResult(write_payload(graph), handles, store.get_named_data_store_output())
