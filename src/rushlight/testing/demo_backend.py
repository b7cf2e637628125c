"""Small backends and partitioners for tests of delegation.

The names and payloads are those of ExecuTorch's demo backends. `examples/demo_backend` contains the runtime
part of `BackendWithCompilerDemo`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple, final

import torch
from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain

from rushlight.compat.canonical_partitioners import generate_pattern_op_partitions
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import EdgeProgramManager
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.ir import meta
from rushlight.ir.control_flow import get_control_flow_submodules
from rushlight.ir.edge_ops import ops

_DEMO_OPERATORS = (
    ops.edge.aten.sin.default,
    ops.edge.aten.mm.default,
    ops.edge.aten.add.Tensor,
    ops.edge.aten.linear.default,
    ops.edge.aten.scaled_dot_product_attention.default,
    ops.edge.aten.upsample_nearest2d.vec,
    torch.ops.aten.sin.default,
)

ops_not_to_decompose = [
    torch.ops.aten.linear.default,
    torch.ops.aten.scaled_dot_product_attention.default,
    torch.ops.aten.upsample_nearest2d.vec,
]
"""Operators that `NonDecompTestPartitioner` delegates without decomposition."""

edge_ops_non_decomposed = [
    ops.edge.aten.linear.default,
    ops.edge.aten.scaled_dot_product_attention.default,
    ops.edge.aten.upsample_nearest2d.vec,
]
"""The same operators in the edge dialect."""


class DemoOp(NamedTuple):
    """An instruction of `BackendWithCompilerDemo`.

    Attributes:
        op: the operator with its overload, such as "aten.sin.default".
        numel: the number of elements of the result.
        dtype: the dtype of the result.
    """

    op: str
    numel: int
    dtype: torch.dtype

    def __repr__(self) -> str:
        return f"op:demo::{self.op}, numel:{self.numel}, dtype:{self.dtype}"


@final
class BackendWithCompilerDemo(BackendDetails):
    """A backend whose payload lists its operators as text.

    The payload begins with the number of instructions and "version:0". Each instruction ends with its debug
    handle, and "#" separates the instructions. The payload does not contain the inputs of instructions.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Lists the operators of a partition.

        Raises:
            RuntimeError: the backend does not support an operator.
        """
        instructions: list[str] = []
        handles: dict[int, tuple[int, ...]] = {}
        for node in edge_program.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr"):
                continue
            if node.op != "call_function" or node.target not in _DEMO_OPERATORS:
                name = getattr(node.target, "__name__", node.target)
                raise RuntimeError(f"{node.op} {name} is not supported in backend BackendWithCompilerDemo")
            value, handle = meta.get_val(node), meta.get_debug_handle(node)
            operator = DemoOp(node.target.__name__, math.prod(value.shape), value.dtype)
            instructions.append(f"{operator!r}<debug_handle>{-1 if handle is None else handle}#")
            if isinstance(handle, int):
                handles[handle] = (handle,)
        text = f"{len(instructions)}version:0#" + "".join(instructions)
        return PreprocessResult(text.encode(), handles, _delegate_info_meta="test")


@final
class ExecutorBackend(BackendDetails):
    """A backend whose payload is a program file of the partition.

    With the compile spec "external_constants", the program file does not contain its constants.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles a partition to a separate program."""
        outside = any(spec.key == "external_constants" for spec in compile_specs)
        program = EdgeProgramManager(edge_program).to_executorch(
            ExecutorchBackendConfig(external_constants=outside)
        )
        return PreprocessResult(program.buffer)


class _ListedOperatorSupport(OperatorSupportBase):
    """Supports calls of the operators in `operators`."""

    operators: tuple[object, ...] = ()

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Returns whether the node calls one of the operators."""
        return node.op == "call_function" and node.target in self.operators


class AllOperatorSupport(OperatorSupportBase):
    """Supports calls of all operators."""

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Returns whether the node calls an operator."""
        return node.op == "call_function"


class AnyDelegateSupport(OperatorSupportBase):
    """Supports calls of lowered modules of `BackendWithCompilerDemo`."""

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Returns whether the node calls a lowered module of `BackendWithCompilerDemo`."""
        if node.op != "call_function" or node.target is not executorch_call_delegate:
            return False
        module = node.args[0]
        lowered = submodules.get(str(module.target)) if isinstance(module, Node) else None
        return getattr(lowered, "backend_id", None) == BackendWithCompilerDemo.__name__


class AddOperatorSupport(_ListedOperatorSupport):
    """Supports additions."""

    operators = (ops.edge.aten.add.Tensor,)


class MatmulOperatorSupport(_ListedOperatorSupport):
    """Supports matrix multiplications."""

    operators = (ops.edge.aten.mm.default,)


class OpsToNotDecomposeOperatorSupport(_ListedOperatorSupport):
    """Supports the operators in `edge_ops_non_decomposed`."""

    operators = tuple(edge_ops_non_decomposed)


def _tag_partitions(
    graph_module: GraphModule, support: OperatorSupportBase, spec: DelegationSpec
) -> dict[str, DelegationSpec]:
    """Tags the supported nodes of a graph. Each partition has its own tag."""
    tags: dict[str, DelegationSpec] = {}
    for partition in generate_pattern_op_partitions(graph_module, op_support=support):
        tag = f"tag{partition.id}"
        tags[tag] = spec
        for node in partition.nodes:
            meta.set_delegation_tag(node, tag)
    return tags


def _tag_with_control_flow(
    graph_module: GraphModule, tag: Callable[[GraphModule], dict[str, DelegationSpec]]
) -> dict[str, DelegationSpec]:
    """Tags a graph and the graphs of its control-flow operators."""
    tags = tag(graph_module)
    for _, submodule, _ in get_control_flow_submodules(graph_module):
        tags.update(_tag_with_control_flow(submodule, tag))
    return tags


def _tag_data(program: ExportedProgram) -> None:
    """Gives each parameter, buffer, constant and attribute the tag of a node that reads it."""
    signature = program.graph_signature
    data = {
        *signature.inputs_to_parameters,
        *signature.inputs_to_buffers,
        *signature.inputs_to_lifted_tensor_constants,
    }
    for node in program.graph.nodes:
        tag = meta.get_delegation_tag(node)
        if node.op != "call_function" or tag is None:
            continue
        for argument in node.args:
            if isinstance(argument, Node) and (argument.op == "get_attr" or argument.name in data):
                meta.set_delegation_tag(argument, tag)


class _DemoPartitioner(Partitioner):
    """Delegates nodes of the main graph that `op_support` supports to the backend of `delegation_spec`."""

    op_support: OperatorSupportBase
    delegation_spec: DelegationSpec

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the supported nodes, and the data that these nodes read."""
        tags = _tag_partitions(exported_program.graph_module, self.op_support, self.delegation_spec)
        _tag_data(exported_program)
        return PartitionResult(exported_program, tags)


@final
class AddMulPartitionerDemo(Partitioner):
    """Delegates additions and matrix multiplications to `BackendWithCompilerDemo`, also in control flow."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = any_chain(AddOperatorSupport(), MatmulOperatorSupport())
        self.delegation_spec = DelegationSpec(
            BackendWithCompilerDemo.__name__, [CompileSpec("max_value", bytes([4]))]
        )

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags additions and multiplications. The data that they read remain inputs of the delegates."""

        def tag(graph_module: GraphModule) -> dict[str, DelegationSpec]:
            return _tag_partitions(graph_module, self.op_support, self.delegation_spec)

        return PartitionResult(exported_program, _tag_with_control_flow(exported_program.graph_module, tag))


@final
class AddAttributePartitionerDemo(_DemoPartitioner):
    """Delegates additions and the data that they read to `BackendWithCompilerDemo`."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = AddOperatorSupport()
        self.delegation_spec = DelegationSpec(BackendWithCompilerDemo.__name__, [])


@final
class AllNodesPartitionerDemo(_DemoPartitioner):
    """Delegates all operators and data to `ExecutorBackend`."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = AllOperatorSupport()
        self.delegation_spec = DelegationSpec(ExecutorBackend.__name__, [])


@final
class ExecutorBackendPartitioner(Partitioner):
    """Delegates all operators to `ExecutorBackend`, including calls of other delegates."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = AllOperatorSupport()
        self.delegation_spec = DelegationSpec(ExecutorBackend.__name__, [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags all operators, and the lowered modules that they call."""
        graph_module = exported_program.graph_module
        tags = _tag_partitions(graph_module, self.op_support, self.delegation_spec)
        for node in graph_module.graph.nodes:
            tag = meta.get_delegation_tag(node)
            if tag is None or not node.args:
                continue
            first = node.args[0]
            if isinstance(first, Node) and first.op == "get_attr":
                meta.set_delegation_tag(first, tag)
        return PartitionResult(exported_program, tags)


@final
class NonDecompTestPartitioner(Partitioner):
    """Lowers each linear layer with a bias, each attention and each upsampling to a separate delegate.

    The operators are not decomposed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.supported_non_decomposed_edge_ops = edge_ops_non_decomposed
        self.op_support = any_chain(OpsToNotDecomposeOperatorSupport())
        self.delegation_spec = DelegationSpec(
            BackendWithCompilerDemo.__name__, [CompileSpec("max_value", bytes([4]))]
        )

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Returns the operators that are not decomposed, and a filter: they must have three arguments."""

        def is_kept(node: Node) -> bool:
            return node.target not in ops_not_to_decompose or len(node.args) == 3

        return ops_not_to_decompose, is_kept

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags each supported operator with a different tag."""

        def tag(graph_module: GraphModule) -> dict[str, DelegationSpec]:
            nodes = [n for n in graph_module.graph.nodes if self.op_support.is_node_supported({}, n)]
            for index, node in enumerate(nodes):
                meta.set_delegation_tag(node, f"tag{index}")
            return {f"tag{index}": self.delegation_spec for index in range(len(nodes))}

        return PartitionResult(exported_program, _tag_with_control_flow(exported_program.graph_module, tag))
