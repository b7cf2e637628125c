"""From a module to a program file in one call, with this package's own choice of backend."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.export import ExportedProgram

from rushlight.backends.cpu.lowering import Float32MatmulPrecision, chosen_precision
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compile.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compile.edge import EdgeProgramManager, to_edge_transform_and_lower
from rushlight.compile.executorch import ExecutorchProgramManager
from rushlight.compile.whole import WHOLE
from rushlight.delegate.partitioner import Partitioner
from rushlight.frontend.export import export_module
from rushlight.ir.errors import ExportError
from rushlight.memory.planning_pass import MemoryPlanningPass


class CompiledProgram:
    """A compiled model: `save` it, take its bytes, or hand them to the runtime."""

    def __init__(self, manager: ExecutorchProgramManager) -> None:
        self.manager = manager

    @property
    def buffer(self) -> bytes:
        """The bytes of the .pte file."""
        return self.manager.buffer

    @property
    def methods(self) -> set[str]:
        """The names of the methods."""
        return self.manager.methods

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the .pte file to a path that ends in .pte; it is there whole or not at all."""
        self.manager.save(path)

    def __repr__(self) -> str:
        return f"CompiledProgram(methods={sorted(self.methods)}, bytes={len(self.buffer)})"


def compile(
    model: torch.nn.Module | ExportedProgram | Mapping[str, torch.nn.Module | ExportedProgram],
    example_inputs: Sequence[Any] | torch.Tensor | Mapping[str, Any] | None = None,
    *,
    example_kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    partitioner: Sequence[Partitioner] | Mapping[str, Sequence[Partitioner]] | None = None,
    constant_methods: dict[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    backend_config: ExecutorchBackendConfig | None = None,
    float32_matmul_precision: Float32MatmulPrecision = "highest",
    compact: bool = False,
    weights: torch.dtype | None = None,
    exact: bool | None = None,
) -> CompiledProgram:
    """Compiles a model to a .pte program.

    Args:
        model: a module with example inputs, or what torch.export made of it, or several of either by method
            name. A module is compiled as it behaves in evaluation mode.
        example_inputs: the positional inputs of a module; by method name for several modules.
        example_kwargs: the inputs by keyword; by method name for several modules.
        dynamic_shapes: as torch.export takes them; by method name for several modules.
        partitioner: by default CpuPartitioner; with `()` everything runs on kernels.
        constant_methods: methods that return a constant, by name.
        compile_config: by default every operator that the target has a kernel for is taken, of Core ATen or
            not.
        backend_config: by default, with the default partitioner, inputs that its backend alone reads are read
            where the caller has them; memory for copies is planned otherwise.
        float32_matmul_precision: "highest" keeps full float32. With "high" large products and convolutions
            are faster, and steps may add errors of up to 1e-3 of the largest result. This option and the
            next two belong to the default partitioner.
        compact: no weights in the file that take more bytes than the model's, at the price of a longer load.
        weights: torch.float16 or torch.bfloat16 to store float32 weights in half the bytes.
        exact: deprecated: True is float32_matmul_precision="highest", False is "high".

    Returns:
        The program, ready to be saved.

    Raises:
        ExportError, CompileError: the model cannot be compiled; the message names the operator and the line
            of your Python.
        ValueError: a setting of the default partitioner that it does not know, or that is given beside
            another partitioner.
    """
    float32_matmul_precision = chosen_precision(float32_matmul_precision, exact)
    if partitioner is not None and (float32_matmul_precision, compact, weights) != ("highest", False, None):
        raise ValueError(
            "float32_matmul_precision, compact and weights are the default partitioner's: with another "
            "partitioner, give them to CpuPartitioner"
        )
    programs: Any = model
    if isinstance(model, torch.nn.Module):
        programs = export_module(model, example_inputs, example_kwargs, dynamic_shapes)  # type: ignore[arg-type]
    elif isinstance(model, Mapping):
        given = [item or {} for item in (example_inputs, example_kwargs, dynamic_shapes)]
        programs = {name: _exported(name, part, given) for name, part in model.items()}
    edge = to_edge_transform_and_lower(
        programs,
        partitioner=[
            CpuPartitioner(
                float32_matmul_precision=float32_matmul_precision, compact=compact, weights=weights
            )
        ]
        if partitioner is None
        else partitioner,
        constant_methods=constant_methods,
        compile_config=compile_config or EdgeCompileConfig(core_aten_only=False, preserve_ops=list(WHOLE)),
    )
    if backend_config is None and partitioner is None and _backends_alone_read_inputs(edge):
        backend_config = ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False)
        )
    return CompiledProgram(edge.to_executorch(backend_config))


def _exported(name: str, model: Any, given: Sequence[Any]) -> Any:
    """A method's program; `given` are example inputs, keyword inputs and dynamic shapes by method name."""
    if not isinstance(model, torch.nn.Module):
        return model
    if not all(isinstance(item, Mapping) for item in given):
        raise ExportError("example_inputs of several modules are a dict by method name: {'encode': (x,)}")
    inputs, kwargs, shapes = (item.get(name) for item in given)
    return export_module(model, inputs, kwargs, shapes)


def _backends_alone_read_inputs(edge: EdgeProgramManager) -> bool:
    """Whether nothing writes to an input, gives it back or looks at it in another shape."""
    for name in edge.methods:
        program = edge.exported_program(name)
        signature = program.graph_signature
        if signature.user_inputs_to_mutate:
            return False
        given = (n for n in program.graph.find_nodes(op="placeholder") if n.name in signature.user_inputs)
        if any(user.target is not executorch_call_delegate for node in given for user in node.users):
            return False
    return True
