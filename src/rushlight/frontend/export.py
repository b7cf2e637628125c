"""Exports modules, and checks exported programs, which are kept in a dict by method name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.utils import _pytree as pytree

from rushlight.frontend.diagnosis import check_program, plain_words
from rushlight.ir.errors import ExportError
from rushlight.ir.facts import MethodProgram
from rushlight.ir.program import DynamicShapes
from rushlight.ir.progress import working
from rushlight.passes.base import ProgramPass


def export_module(
    module: torch.nn.Module,
    example_inputs: Sequence[object] | torch.Tensor | None,
    example_kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: DynamicShapes = None,
    *,
    strict: bool = False,
    in_evaluation_mode: bool = True,
) -> ExportedProgram:
    """Exports a module.

    Args:
        module: the module. If it is a graph that torch has captured, its mode cannot be changed.
        example_inputs: the positional inputs: a tuple, or one tensor.
        example_kwargs: the keyword inputs.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
        strict: the option `strict` of torch.export.
        in_evaluation_mode: export the module in evaluation mode, and restore its mode afterwards. If False,
            the module is exported in its current mode.

    Returns:
        The exported program.

    Raises:
        ExportError: torch cannot export the module. The message has the user's source line.
    """
    if example_inputs is None and example_kwargs is None:
        raise ExportError("example_inputs are needed to compile a module")
    _check_module(module)
    for value in pytree.tree_leaves((example_inputs, dict(example_kwargs or {}))):
        if isinstance(value, np.ndarray):
            raise ExportError("the example inputs contain a numpy array: convert it with torch.from_numpy")
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs or ())
    if isinstance(module, _LazyGraphModule):
        module.real_recompile()  # torch reads the names of the inputs from the code of the graph.
    try:
        inspect.signature(module.forward).bind(*inputs, **(example_kwargs or {}))
    except ValueError:  # the signature is not known
        pass
    except TypeError as error:
        raise ExportError(
            f"forward of {type(module).__name__} does not accept {len(inputs)} positional and "
            f"{len(example_kwargs or ())} keyword example inputs: {error}"
        ) from None
    modes = {part: part.training for part in module.modules()}
    if in_evaluation_mode:
        with suppress(NotImplementedError):  # A captured graph does not support eval().
            module.eval()
    try:
        with plain_words(module), working("export the model"):
            given: dict[str, Any] = {"kwargs": dict(example_kwargs)} if example_kwargs else {}
            return torch.export.export(module, inputs, **given, dynamic_shapes=dynamic_shapes, strict=strict)
    finally:
        for part, training in modes.items():
            part.training = training


def _check_module(module: torch.nn.Module) -> None:
    """Raises ExportError for modules of kinds that torch.export does not support."""
    if isinstance(module, torch.jit.ScriptModule):
        raise ExportError(
            f"the model {module.original_name} is a module of TorchScript: give the torch.nn.Module from "
            "which torch.jit made it"
        )
    for name, part in module.named_modules():
        if name.startswith("activation_post_process"):
            raise ExportError(
                "the model is prepared for quantization, but not converted: call convert_pt2e first"
            )
        if type(part).__module__.startswith("torch.ao.nn.quantized"):
            raise ExportError(
                f"module {name or 'of the model'!r} is a {type(part).__name__} of PyTorch's eager mode "
                "quantization, which torch.export does not support: quantize the float model with "
                "rushlight.quantize.quantize"
            )


def as_programs(programs: ExportedProgram | Mapping[str, ExportedProgram]) -> dict[str, ExportedProgram]:
    """Returns programs by method name. A single program is the method `forward`.

    Raises:
        ExportError: an argument is not an exported program, or `check_program` rejects it.
    """
    if isinstance(programs, ExportedProgram):
        programs = {"forward": programs}
    if not isinstance(programs, Mapping):  # pragma: no branch
        raise ExportError(
            f"an ExportedProgram or a dict of them is needed, not {type(programs).__name__}; "
            "make one with torch.export.export(module, example_inputs)"
        )
    if not programs:
        raise ExportError("a program needs at least one method")
    for name, program in programs.items():
        if not isinstance(name, str) or not isinstance(program, ExportedProgram):
            raise ExportError(f"method {name!r} is of type {type(program).__name__}, not an ExportedProgram")
        check_program(name, program)
    return dict(programs)


class RemoveUnusedParametersPass(ProgramPass):
    """Drops parameters that the graph does not read."""

    def rewrite(self, program: MethodProgram) -> bool:
        """Removes the placeholders of unused parameters."""
        signature = program.graph_signature
        placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
        unused = {
            spec.arg.name
            for spec in signature.input_specs
            if spec.kind == InputKind.PARAMETER and not placeholders[spec.arg.name].users
        }
        if not unused:
            return False
        kept = [spec for spec in signature.input_specs if spec.arg.name not in unused]
        dropped = {spec.target for spec in signature.input_specs if spec.arg.name in unused}
        for name in unused:
            program.graph.erase_node(placeholders[name])
        program._graph_signature = ExportGraphSignature(kept, list(signature.output_specs))
        program._state_dict = {
            name: value for name, value in program.state_dict.items() if name not in dropped
        }
        return True
