"""Replaces float inputs and outputs of a program by quantized ones, as ExecuTorch's `quantize_io_pass`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, TensorArgument
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.emit.tensors import SCALAR_TYPES
from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, ops
from rushlight.ir.fake import Evaluator
from rushlight.ir.quantization import INTEGERS, QuantParams, dequantize_params, quantize_params

_KEYS = ("scale", "zp", "quant_min", "quant_max", "dtype")
_CONVERTIBLE = (torch.int8, torch.uint8, torch.bool, torch.int16, torch.uint16)

Arguments = tuple[float, int, int, int, torch.dtype]
"""The quantization parameters of a tensor: scale, zero point, quant_min, quant_max and dtype."""


def get_config_method_name(
    prefix: str | None = "forward", arg_type: str = "input", index: int = 0, key: str = "scale"
) -> str:
    """Returns the name of the constant method with a quantization parameter of an input or output.

    Args:
        prefix: the name of the method, with which the name starts; None for no prefix.
        arg_type: "input" or "output".
        index: the index of the input or output.
        key: "scale", "zp", "quant_min", "quant_max" or "dtype".
    """
    assert arg_type in ("input", "output"), f'arg_type must be "input" or "output", not {arg_type!r}'
    assert index >= 0, f"index {index} must not be negative"
    assert key in _KEYS, f"key must be one of {_KEYS}, not {key!r}"
    return f"{'' if prefix is None else prefix + '_'}{arg_type}{index}_{key}"


def quantize_input(
    exported_program: ExportedProgram, input_index: int, qparams: Mapping[str, Any] | None = None
) -> Arguments:
    """Changes an input from float to integers, if the program quantizes this input first.

    Args:
        exported_program: the program, which is changed in place.
        input_index: the index of the input among the user inputs.
        qparams: the "scale", "zp" and "dtype" of the new input. If they differ from the program's parameters,
            the program requantizes the input. None means the program's parameters.

    Returns:
        The quantization parameters of the input.

    Raises:
        ValueError: the input has several users or is not quantized per tensor, or the dtypes cannot be
            converted.
    """
    name = str(exported_program.graph_signature.user_inputs[input_index])
    return _quantize_input(exported_program.graph_module, name, input_index, qparams)


def quantize_output(exported_program: ExportedProgram, output_index: int) -> Arguments:
    """Changes an output from float to integers, if the program dequantizes this output last.

    Args:
        exported_program: the program, which is changed in place.
        output_index: the index of the output.

    Returns:
        The quantization parameters of the output.

    Raises:
        ValueError: the output does not exist, or it is not dequantized per tensor.
    """
    arguments = _quantize_output(exported_program.graph_module, output_index)
    output = exported_program.graph.output_node().args[0]
    assert isinstance(output, (list, tuple))
    for spec, node in zip(exported_program.graph_signature.output_specs, output, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT and isinstance(node, Node):
            spec.arg = TensorArgument(node.name)
    return arguments


def _quantize_input(
    module: GraphModule, name: str, index: int, wanted: Mapping[str, Any] | None
) -> Arguments:
    placeholder = next(node for node in module.graph.nodes if node.name == name)
    if len(placeholder.users) != 1:
        raise ValueError(f"input {index} ({name}) has {len(placeholder.users)} users, not one quantize node")
    (quantize,) = placeholder.users
    params = quantize_params(quantize, *INTEGERS)
    if params is None:
        raise ValueError(f"input {index} ({name}) is not quantized per tensor; {quantize.target} reads it")
    given = params if wanted is None else _requested_params(params, wanted)
    meta.set_val(
        placeholder,
        Evaluator.of(module).like(torch.empty(0)).new_empty(meta.get_shape(placeholder), dtype=given.dtype),
    )
    if given is params:
        quantize.replace_all_uses_with(placeholder)
        module.graph.erase_node(quantize)
    else:
        family = ops.edge if isinstance(quantize.target, EdgeOpOverload) else torch.ops
        dequantize = family.quantized_decomposed.dequantize_per_tensor.default
        with module.graph.inserting_before(quantize):
            inverse = module.graph.call_function(dequantize, (placeholder, *_arguments(given)))
        meta.copy_all(quantize, inverse)
        quantized = meta.get_tensor(quantize)
        assert quantized is not None
        meta.set_val(inverse, quantized.to(torch.float32))
        quantize.replace_input_with(placeholder, inverse)
    module.recompile()
    return _arguments(given)


def _requested_params(params: QuantParams, wanted: Mapping[str, Any]) -> QuantParams:
    """Returns the requested parameters, or `params` if they are equal."""
    missing = [key for key in ("scale", "zp", "dtype") if key not in wanted]
    assert not missing, f"qparams has no {', '.join(missing)}"
    dtype: torch.dtype = wanted["dtype"]
    if dtype != params.dtype and not {dtype, params.dtype} <= set(_CONVERTIBLE):
        raise ValueError(f"integers of {dtype} cannot be requantized to {params.dtype}")
    same = math.isclose(wanted["scale"], params.scale, rel_tol=1e-5) and wanted["zp"] == params.zero_point
    if same and dtype == params.dtype:
        return params
    limits = torch.iinfo(dtype)
    return QuantParams(wanted["scale"], wanted["zp"], limits.min, limits.max, dtype)


def _quantize_output(module: GraphModule, index: int) -> Arguments:
    output = module.graph.output_node()
    results = output.args[0]
    assert isinstance(results, (list, tuple))
    if index >= len(results):
        raise ValueError(f"there is no output {index}: the program has {len(results)} outputs")
    dequantize = results[index]
    params = dequantize_params(dequantize, *INTEGERS)
    if params is None or not isinstance(dequantize, Node):
        raise ValueError(f"output {index} ({dequantize}) is not dequantized per tensor")
    source = dequantize.args[0]
    output.args = ((*results[:index], source, *results[index + 1 :]),)
    if not dequantize.users:
        module.graph.erase_node(dequantize)
    module.recompile()
    return _arguments(params)


def _arguments(params: QuantParams) -> Arguments:
    return params.scale, params.zero_point, params.quant_min, params.quant_max, params.dtype


class _QuantizeIO(PassBase):
    """Changes a program, and stores the quantization parameters as constant methods of its manager."""

    kind = ""

    def __init__(
        self, edge_program_manager: Any, method_name: str | None, exported_program: ExportedProgram | None
    ) -> None:
        super().__init__()
        self.edge_program_manager = edge_program_manager
        self.param_prefix_name = method_name
        self.exported_program = exported_program

    def program(self) -> ExportedProgram:
        """Returns the program that is changed."""
        if self.edge_program_manager is None:
            assert self.exported_program is not None, "pass an edge_program_manager or an exported_program"
            return self.exported_program
        program: ExportedProgram = self.edge_program_manager.exported_program()
        return program

    def edge_manager_update_quant_config_method(self, idx: int, arguments: Arguments) -> None:
        """Adds the constant methods of one input or output to the manager."""
        if self.edge_program_manager is None:
            return
        methods = dict(self.edge_program_manager._config_methods or {})
        for key, value in zip(_KEYS, (*arguments[:4], SCALAR_TYPES[arguments[4]]), strict=True):
            methods[get_config_method_name(self.param_prefix_name, self.kind, idx, key)] = value
        self.edge_program_manager._config_methods = methods


class QuantizeInputs(_QuantizeIO):
    """Changes inputs from float to integers, with `quantize_input`.

    Args:
        edge_program_manager: the manager of the program, which gets constant methods with the quantization
            parameters; or None.
        quantized_inputs_idx: the indices of the inputs, or a dict from index to the `qparams` of
            `quantize_input`.
        method_name: the prefix of the names of the constant methods.
        exported_program: the program, if there is no manager.

    Attributes:
        quant_args: the quantization parameters of each input, by index.
    """

    kind = "input"

    def __init__(
        self,
        edge_program_manager: Any,
        quantized_inputs_idx: Mapping[int, Mapping[str, Any] | None] | Sequence[int],
        method_name: str | None = None,
        exported_program: ExportedProgram | None = None,
    ) -> None:
        super().__init__(edge_program_manager, method_name, exported_program)
        listed = isinstance(quantized_inputs_idx, Mapping)
        self.quantized_inputs_idx_dict: dict[int, Mapping[str, Any] | None] = (
            dict(quantized_inputs_idx) if listed else dict.fromkeys(quantized_inputs_idx)  # type: ignore[arg-type]
        )
        self.quant_args: dict[int, Arguments] = {}

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Changes the program and the given graph module, in place."""
        program = self.program()
        for index, params in self.quantized_inputs_idx_dict.items():
            name = str(program.graph_signature.user_inputs[index])
            self.quant_args[index] = quantize_input(program, index, params)
            if graph_module is not program.graph_module:
                _quantize_input(graph_module, name, index, params)
            self.edge_manager_update_quant_config_method(index, self.quant_args[index])
        return PassResult(graph_module, True)

    def edge_manager_update_quant_config_methods_all(self) -> None:
        """Adds the constant methods of all inputs to the manager."""
        for index, arguments in self.quant_args.items():
            self.edge_manager_update_quant_config_method(index, arguments)


class QuantizeOutputs(_QuantizeIO):
    """Changes outputs from float to integers, with `quantize_output`.

    Args:
        edge_program_manager: the manager of the program, which gets constant methods with the quantization
            parameters; or None.
        quantized_outputs_idx_list: the indices of the outputs.
        method_name: the prefix of the names of the constant methods.
        exported_program: the program, if there is no manager.

    Attributes:
        dequant_args: the quantization parameters of each output, by index.
    """

    kind = "output"

    def __init__(
        self,
        edge_program_manager: Any,
        quantized_outputs_idx_list: Sequence[int],
        method_name: str | None = None,
        exported_program: ExportedProgram | None = None,
    ) -> None:
        super().__init__(edge_program_manager, method_name, exported_program)
        self.quantized_outputs_idx_list = list(quantized_outputs_idx_list)
        self.dequant_args: dict[int, Arguments] = {}

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Changes the program and the given graph module, in place."""
        program = self.program()
        for index in self.quantized_outputs_idx_list:
            self.dequant_args[index] = quantize_output(program, index)
            if graph_module is not program.graph_module:
                _quantize_output(graph_module, index)
            self.edge_manager_update_quant_config_method(index, self.dequant_args[index])
        return PassResult(graph_module, True)

    def edge_manager_update_quant_config_methods_all(self) -> None:
        """Adds the constant methods of all outputs to the manager."""
        for index, arguments in self.dequant_args.items():
            self.edge_manager_update_quant_config_method(index, arguments)
