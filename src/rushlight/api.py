"""`rushlight.compile`: compiles a model to a program file in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.export import ExportedProgram

from rushlight.backends.cpu.options import Float32MatmulPrecision, chosen_precision
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compiler.edge import EdgeProgramManager, to_edge_transform_and_lower
from rushlight.compiler.executorch import ExecutorchProgramManager
from rushlight.compiler.garbage import heap_frozen
from rushlight.compiler.preserved_ops import PRESERVED_OPS
from rushlight.delegate.partitioner import Partitioner
from rushlight.frontend.export import export_module
from rushlight.ir.errors import ExportError
from rushlight.ir.program import DynamicShapes
from rushlight.memory.hierarchy import Memory
from rushlight.memory.planning_pass import MemoryPlanningPass

if TYPE_CHECKING:
    from rushlight.devtools.etrecord.record import ETRecord


class CompiledProgram:
    """A compiled program. It can be saved to a file, and the runtime can load its bytes.

    Attributes:
        manager: the program as an `ExecutorchProgramManager`, with the interface of ExecuTorch.
    """

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
        """Writes the .pte file. If writing fails, no incomplete file is left.

        Args:
            path: the path of the file; it must end with .pte.
        """
        self.manager.save(path)

    def get_etrecord(self) -> ETRecord:
        """Returns the compiler's record of this program: graphs, debug handles and delegates.

        Raises:
            RuntimeError: `compile` was not called with `generate_etrecord=True`.
        """
        return self.manager.get_etrecord()

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuses to run: a compiled program is a file, and the runtime runs it.

        Raises:
            TypeError: always. The message says how to load the program.
        """
        raise TypeError("a CompiledProgram must be loaded before it runs: rushlight.load(program)(...)")

    def __repr__(self) -> str:
        return f"CompiledProgram(methods={sorted(self.methods)}, bytes={len(self.buffer)})"


@heap_frozen()
def compile(
    model: torch.nn.Module | ExportedProgram | Mapping[str, torch.nn.Module | ExportedProgram],
    example_inputs: Sequence[object] | torch.Tensor | Mapping[str, object] | None = None,
    *,
    example_kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: DynamicShapes = None,
    partitioner: Sequence[Partitioner] | Mapping[str, Sequence[Partitioner]] | None = None,
    constant_methods: Mapping[str, object] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    backend_config: ExecutorchBackendConfig | None = None,
    float32_matmul_precision: Float32MatmulPrecision = "highest",
    compact: bool = False,
    weights: torch.dtype | None = None,
    generate_etrecord: bool = False,
    digest: bool = False,
    exact: bool | None = None,
    memories: Sequence[Memory] = (),
) -> CompiledProgram:
    """Compiles a model to a .pte program.

    Modules are compiled in evaluation mode. To compile several methods, give `model` as a dict from method
    name to model. `example_inputs`, `example_kwargs` and `dynamic_shapes` must then be dicts from method name
    too.

    Args:
        model: a torch.nn.Module, an ExportedProgram of torch.export, or a dict from method name to one of
            these.
        example_inputs: example positional inputs of the module: a tuple, or one tensor. An ExportedProgram
            does not need them.
        example_kwargs: example keyword inputs of the module.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
        partitioner: the partitioners, in order. Each of them chooses the operators that its backend runs. A
            dict has the partitioners of each method by name. The default is the CPU backend
            (`CpuPartitioner`). With `()`, no backend is used, and kernels run all operators.
        constant_methods: additional methods without inputs that return a constant: a dict from method name to
            value.
        compile_config: options of the conversion to the edge dialect. The default accepts every operator that
            has a kernel, even if it does not belong to Core ATen.
        backend_config: options of memory planning and of the file. By default, the program reads its inputs
            directly from the caller's memory if only delegates use them; otherwise the plan has memory for
            copies of the inputs. By default, the planner also reorders nodes if this lowers the peak memory.
        float32_matmul_precision: "highest" computes in full float32. "high" makes large matrix products and
            some convolutions faster; the total error of all steps may then be up to 1e-3 of the largest
            result. An option of the default partitioner.
        compact: store weights in no more bytes than the model has; loading then takes longer. An option of
            the default partitioner.
        weights: torch.float16 or torch.bfloat16 to store float32 weights in this dtype, which halves their
            size. An option of the default partitioner.
        generate_etrecord: keep the data that the developer tools need, see `CompiledProgram.get_etrecord`.
        digest: append a SHA-256 digest of the file to it. `rushlight.load(..., verify_digest=True)` compares
            it with the bytes of the file.
        memories: the memories of the device; the planner chooses one for each tensor, see
            `rushlight.memory.hierarchy.Memory`.
        exact: deprecated. True means float32_matmul_precision="highest", False means "high".

    Returns:
        The compiled program.

    Raises:
        ExportError, CompileError: the model cannot be compiled. The message names the operator and the line
            of the model's Python code.
        ValueError: an option of the default partitioner has an unknown value, or is given together with
            `partitioner`.
        TypeError: an option has a value of another type.
    """
    for name, value in (("compact", compact), ("generate_etrecord", generate_etrecord), ("digest", digest)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r}")
    _check_type("constant_methods", constant_methods, Mapping, "a dict from method name to value")
    _check_type("compile_config", compile_config, EdgeCompileConfig, "an EdgeCompileConfig")
    _check_type("backend_config", backend_config, ExecutorchBackendConfig, "an ExecutorchBackendConfig")
    float32_matmul_precision = chosen_precision(float32_matmul_precision, exact)
    if partitioner is not None and (float32_matmul_precision, compact, weights) != ("highest", False, None):
        raise ValueError(
            "float32_matmul_precision, compact and weights are options of the default partitioner; if you "
            "give partitioners, give them to CpuPartitioner"
        )
    edge = to_edge_transform_and_lower(
        _exported_programs(model, example_inputs, example_kwargs, dynamic_shapes),
        partitioner=[
            CpuPartitioner(
                float32_matmul_precision=float32_matmul_precision, compact=compact, weights=weights
            )
        ]
        if partitioner is None
        else partitioner,
        constant_methods=constant_methods,
        compile_config=compile_config
        or EdgeCompileConfig(core_aten_only=False, preserve_ops=list(PRESERVED_OPS)),
        generate_etrecord=generate_etrecord,
    )
    if backend_config is None:
        reads_inputs = partitioner is None and _only_delegates_use_inputs(edge)
        backend_config = ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=not reads_inputs, reorder=True)
        )
    if digest:
        backend_config = replace(backend_config, digest=True)
    if memories:
        backend_config = replace(backend_config, memories=memories)
    return CompiledProgram(edge.to_executorch(backend_config))


def _check_type(name: str, value: object, kind: type, expected: str) -> None:
    """Raises TypeError if an option is neither None nor of its type.

    Args:
        name: the name of the option.
        value: its value.
        kind: its type.
        expected: the name of the type in the message.
    """
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name} must be {expected}, not {value!r}")


def _exported_programs(
    model: Any, example_inputs: Any, example_kwargs: Any, dynamic_shapes: Any
) -> ExportedProgram | dict[str, ExportedProgram]:
    """Exports all modules among the models; programs that are already exported are returned unchanged.

    Args:
        model: the argument of `compile`: one model, or models by method name.
        example_inputs: the inputs of the model, or inputs by method name.
        example_kwargs: the keyword inputs of the model, or keyword inputs by method name.
        dynamic_shapes: the dynamic dimensions of the model, or dynamic dimensions by method name.

    Raises:
        ExportError: a module cannot be exported, or an argument for several modules is not a dict by method
            name.
    """
    if isinstance(model, torch.nn.Module):
        return export_module(model, example_inputs, example_kwargs, dynamic_shapes)
    if not isinstance(model, Mapping):
        if dynamic_shapes is not None and isinstance(model, ExportedProgram):
            raise ExportError("the program is exported already: give dynamic_shapes to torch.export.export")
        return model  # type: ignore[no-any-return]
    by_method = {
        "example_inputs": {} if example_inputs is None else example_inputs,
        "example_kwargs": example_kwargs or {},
        "dynamic_shapes": dynamic_shapes or {},
    }
    for argument, given in by_method.items():
        unknown = [name for name in given if name not in model] if isinstance(given, Mapping) else []
        if unknown:
            raise ExportError(
                f"{argument} has the method {unknown[0]!r}, but the methods are {', '.join(map(repr, model))}"
            )
    return {name: _exported_method(name, part, list(by_method.values())) for name, part in model.items()}


def _exported_method(name: str, model: Any, by_method: Sequence[Any]) -> ExportedProgram:
    """Exports the model of one method.

    Args:
        name: the name of the method.
        model: a module, or a program that is already exported.
        by_method: three dicts by method name: the example inputs, keyword inputs and dynamic shapes.

    Raises:
        ExportError: the module cannot be exported, or one of `by_method` is not a dict.
    """
    if not isinstance(model, torch.nn.Module):
        return model  # type: ignore[no-any-return]
    if not all(isinstance(argument, Mapping) for argument in by_method):
        raise ExportError(
            "example_inputs, example_kwargs and dynamic_shapes of several modules must be dicts by method "
            "name, such as {'encode': (x,)}"
        )
    inputs, kwargs, shapes = (argument.get(name) for argument in by_method)
    if inputs is None and kwargs is None:
        raise ExportError(f"example_inputs has no inputs of the method {name!r}")
    return export_module(model, inputs, kwargs, shapes)


def _only_delegates_use_inputs(edge: EdgeProgramManager) -> bool:
    """Whether only delegates use the inputs: no method writes, returns or reshapes an input itself."""
    for name in edge.methods:
        program = edge.exported_program(name)
        signature = program.graph_signature
        if signature.user_inputs_to_mutate:
            return False
        inputs = (n for n in program.graph.find_nodes(op="placeholder") if n.name in signature.user_inputs)
        if any(user.target is not executorch_call_delegate for node in inputs for user in node.users):
            return False
    return True
