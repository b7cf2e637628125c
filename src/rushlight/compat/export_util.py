"""Functions that export a model in one call, as in ExecuTorch's `extension.export_util.utils`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

import torch

from rushlight.compiler import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
)
from rushlight.frontend.export import export_module
from rushlight.ir.program import DynamicShapes

logger = logging.getLogger(__name__)


def export_to_edge(
    model: torch.nn.Module,
    example_inputs: tuple[object, ...],
    *,
    example_kwarg_inputs: Mapping[str, object] | None = None,
    dynamic_shapes: DynamicShapes = None,
    edge_constant_methods: Mapping[str, object] | None = None,
    edge_compile_config: EdgeCompileConfig | None = None,
    strict: bool = True,
    verbose: bool = True,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Exports a module to an edge program.

    Args:
        model: the module.
        example_inputs: the positional inputs.
        example_kwarg_inputs: the keyword inputs.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
        edge_constant_methods: methods that return a constant, by name.
        edge_compile_config: options of the conversion to the edge dialect. By default, the dialect is not
            verified.
        strict: the option `strict` of torch.export.
        verbose: log the exported program and the edge program.
        generate_etrecord: keep the programs for the developer tools, as an ETRecord.

    Raises:
        ValueError: `model` is not a module.
    """
    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"the model must be a torch.nn.Module, not {type(model).__name__}")
    program = export_module(
        model, example_inputs, example_kwarg_inputs, dynamic_shapes, strict=strict, in_evaluation_mode=False
    )
    if verbose:
        logger.info("exported graph:\n%s", program.graph)
    edge = to_edge(
        program,
        constant_methods=edge_constant_methods,
        compile_config=edge_compile_config or EdgeCompileConfig(_check_ir_validity=False),
        generate_etrecord=generate_etrecord,
    )
    if verbose:
        logger.info("edge program:\n%s", edge.exported_program())
    return edge


def export_to_exec_prog(
    model: torch.nn.Module,
    example_inputs: tuple[object, ...],
    *,
    example_kwarg_inputs: Mapping[str, object] | None = None,
    dynamic_shapes: DynamicShapes = None,
    edge_constant_methods: Mapping[str, object] | None = None,
    edge_compile_config: EdgeCompileConfig | None = None,
    backend_config: ExecutorchBackendConfig | None = None,
    strict: bool = True,
) -> ExecutorchProgramManager:
    """Sets a module to evaluation mode and exports it to a program file.

    The arguments are those of `export_to_edge`; `backend_config` has the options of the program file.
    """
    edge = export_to_edge(
        model.eval(),
        example_inputs,
        example_kwarg_inputs=example_kwarg_inputs,
        dynamic_shapes=dynamic_shapes,
        edge_constant_methods=edge_constant_methods,
        edge_compile_config=edge_compile_config,
        strict=strict,
    )
    return edge.to_executorch(backend_config)


def save_pte_program(prog: ExecutorchProgramManager, model_name: str, output_dir: str = "") -> str:
    """Writes a program file, and its .ptd files into the same folder.

    Args:
        prog: the program.
        model_name: the name of the file without .pte, or a path that ends with .pte.
        output_dir: the folder of the file, which is made if it does not exist.

    Returns:
        The path of the file.

    Raises:
        OSError: the file cannot be written.
    """
    if output_dir:
        os.makedirs(output_dir, exist_ok=True)
    path = model_name if model_name.endswith(".pte") else os.path.join(output_dir, f"{model_name}.pte")
    prog.save(path)
    prog.write_tensor_data_to_file(output_dir or ".")
    logger.info("saved the program to %s", path)
    return path
