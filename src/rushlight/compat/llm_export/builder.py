"""`LLMEdgeManager` exports a language model step by step, as in ExecuTorch's `extension.llm.export`."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.fx import GraphModule, Node
from torch.nn.attention import SDPBackend, sdpa_kernel
from torchao.quantization.pt2e.quantizer import ComposableQuantizer, Quantizer

from rushlight.compat.export_util import export_to_edge, save_pte_program
from rushlight.compat.llm_export.calibration import Calibration
from rushlight.compat.llm_export.passes import RemoveRedundantTransposesPass
from rushlight.compiler import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from rushlight.delegate.partitioner import Partitioner
from rushlight.delegate.report import format_delegated_graph
from rushlight.files import write_file
from rushlight.frontend.export import export_module
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.passes.sym_shapes import ConstraintBasedSymShapeEvalPass
from rushlight.quantize import convert_pt2e, prepare_pt2e
from rushlight.quantize.dynamic_chains import DuplicateDynamicQuantChainPass

logger = logging.getLogger(__name__)

_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class DType(Enum):
    """The dtype of a model."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"

    def to_torch_dtype(self) -> torch.dtype:
        """Returns the dtype of torch."""
        return _DTYPES[self.value]

    @staticmethod
    def from_torch_dtype(dtype: torch.dtype) -> DType:
        """Returns the member for a dtype of torch.

        Raises:
            ValueError: there is no such member.
        """
        for name, candidate in _DTYPES.items():
            if candidate == dtype:
                return DType(name)
        raise ValueError(f"DType has no member for {dtype}; the dtypes are {list(_DTYPES.values())}")


@contextmanager
def _inference() -> Iterator[None]:
    """Records no gradients, and decomposes attention that must be decomposed into plain operators."""
    with sdpa_kernel([SDPBackend.MATH]), torch.no_grad():
        yield


class LLMEdgeManager:
    """Exports a language model in steps.

    The order of the steps is `export`, `pt2e_quantize`, `export_to_edge`, `to_backend`, `to_executorch` and
    `save_to_pte`. `to_edge_transform_and_lower` replaces `export_to_edge` and `to_backend`. Each step changes
    this object, and all steps except the last one return it.

    Args:
        model: the model. Its inputs are the tokens, an int tensor of shape (1, tokens), and with a cache also
            a dict with `input_pos`, an int tensor of shape (1,): the position of the first token.
        modelname: the name of the model.
        max_seq_len: the largest number of tokens, which the method `get_max_seq_len` of the program returns.
        use_kv_cache: whether the model has a key-value cache.
        example_inputs: the positional example inputs.
        dtype: the dtype of the model.
        example_kwarg_inputs: the keyword example inputs.
        enable_dynamic_shape: let the number of tokens be dynamic.
        generate_full_logits: whether the model returns the logits of all tokens: a tensor of shape
            (1, tokens, vocabulary). Otherwise it returns those of the last token: (1, vocabulary).
        calibration_tasks: must be empty, because tasks of lm_eval are not supported.
        calibration_limit: must be None, because it limits `calibration_tasks`.
        calibration_seq_length: the largest number of tokens for calibration. None calibrates with the example
            inputs.
        calibration_data: a text for calibration.
        tokenizer_path: the file of the tokenizer, which calibration needs.
        verbose: log graphs and delegates.
        metadata: constant methods of the program by name.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export. They replace those of
            `enable_dynamic_shape`.
        save_exported_program: let `export` write the exported program to `<modelname>.pt2` in the working
            directory.
        generate_etrecord: keep the programs for the developer tools, as an ETRecord.
        skip_dim_order: keep the memory formats of operators, instead of dim orders.

    Attributes:
        pre_autograd_graph_module: the captured graph, after `export`.
        edge_manager: the edge program, after `export_to_edge` or `to_edge_transform_and_lower`.
        export_program: the program file, after `to_executorch`.
        canonical_passes: the passes of `run_canonical_optimizations`.
        output_dir: the folder of the program file.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        modelname: str,
        max_seq_len: int,
        use_kv_cache: bool,
        example_inputs: tuple[Any, ...],
        dtype: DType | None = None,
        example_kwarg_inputs: dict[str, Any] | None = None,
        enable_dynamic_shape: bool = False,
        generate_full_logits: bool = False,
        calibration_tasks: list[str] | None = None,
        calibration_limit: int | None = None,
        calibration_seq_length: int | None = None,
        calibration_data: str | None = None,
        tokenizer_path: str | None = None,
        verbose: bool = False,
        metadata: dict[str, Any] | None = None,
        dynamic_shapes: Any = None,
        save_exported_program: bool = False,
        generate_etrecord: bool = False,
        skip_dim_order: bool = True,
    ) -> None:
        self.model = model
        self.modelname = modelname
        self.max_seq_len = max_seq_len
        self.use_kv_cache = use_kv_cache
        self.example_inputs = example_inputs
        self.dtype = dtype
        self.example_kwarg_inputs = example_kwarg_inputs
        self.enable_dynamic_shape = enable_dynamic_shape
        self.generate_full_logits = generate_full_logits
        self.calibration_tasks = calibration_tasks
        self.calibration_limit = calibration_limit
        self.calibration_seq_length = calibration_seq_length
        self.calibration_data = calibration_data
        self.tokenizer_path = tokenizer_path
        self.verbose = verbose
        self.metadata = {} if metadata is None else metadata
        self.metadata["get_max_seq_len"] = max_seq_len
        self.dynamic_shapes = dynamic_shapes or self._default_dynamic_shapes()
        self.save_exported_program = save_exported_program
        self.generate_etrecord = generate_etrecord
        self.skip_dim_order = skip_dim_order

        self.pre_autograd_graph_module: GraphModule | None = None
        self.edge_manager: EdgeProgramManager | None = None
        self.canonical_passes: list[Any] = [RemoveRedundantTransposesPass()]
        self.export_program: ExecutorchProgramManager | None = None
        self.output_dir = "."
        self._saved_pte_filename: str | None = None

    def _default_dynamic_shapes(self) -> Any:
        """Returns the dynamic number of tokens. A position is always one number."""
        if not self.enable_dynamic_shape:
            return None
        tokens = {1: Dim("token_dim", max=self.max_seq_len - 1)}  # torch.export needs one token less.
        return (tokens, {"input_pos": {0: 1}}) if self.use_kv_cache else (tokens,)

    def _get_dynamic_shape(self) -> Any:
        return self.dynamic_shapes

    def _get_edge_config(self) -> EdgeCompileConfig:
        return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=self.skip_dim_order)

    def set_output_dir(self, output_dir: str) -> LLMEdgeManager:
        """Sets the folder of the program file."""
        self.output_dir = output_dir
        return self

    def to_dtype(self, dtype_override: DType | None) -> LLMEdgeManager:
        """Converts the model to a dtype. None keeps its dtype.

        Raises:
            AssertionError: the argument is not a `DType`.
        """
        assert dtype_override is None or isinstance(dtype_override, DType), (
            f"to_dtype needs a DType or None, not {type(dtype_override).__name__}"
        )
        if dtype_override is not None and dtype_override != self.dtype:
            self.model = self.model.to(dtype_override.to_torch_dtype())
            self.dtype = dtype_override
        return self

    def source_transform(
        self, transforms: Sequence[Callable[[torch.nn.Module], torch.nn.Module]]
    ) -> LLMEdgeManager:
        """Applies functions to the model, in order. Each function receives a module and returns one."""
        for transform in transforms:
            self.model = transform(self.model)
        if self.verbose:
            logger.info("the model after %d transforms:\n%s", len(transforms), self.model)
        return self

    def _export(self, module: torch.nn.Module | None = None) -> ExportedProgram:
        """Exports the model, or a captured graph, to a program without in-place operators."""
        with _inference():
            program: ExportedProgram = export_module(
                self.model if module is None else module,
                self.example_inputs,
                self.example_kwarg_inputs,
                self._get_dynamic_shape(),
                strict=module is None,  # A captured graph is traced as it is.
                in_evaluation_mode=False,
            )
            decomposed: ExportedProgram = program.run_decompositions({})
        return decomposed

    def export(self) -> LLMEdgeManager:
        """Captures the graph of the model.

        Raises:
            ExportError: torch cannot export the model.
            OSError: `save_exported_program` is set and the file cannot be written.
        """
        program = self._export()
        self.pre_autograd_graph_module = program.module()
        if self.save_exported_program:
            content = io.BytesIO()
            torch.export.save(program, content)
            write_file(f"{self.modelname}.pt2", content.getvalue())
        return self

    def run_canonical_optimizations(self) -> None:
        """Runs `canonical_passes` on the captured graph. They remove permutes that cancel each other.

        Raises:
            AssertionError: `export` was not called.
        """
        for graph_pass in self.canonical_passes:
            result = graph_pass(self._graph_module())
            assert result is not None, f"{type(graph_pass).__name__} returned None"
            self.pre_autograd_graph_module = result.graph_module

    def _graph_module(self) -> GraphModule:
        assert self.pre_autograd_graph_module is not None, "there is no captured graph; call export() first"
        return self.pre_autograd_graph_module

    def pt2e_quantize(self, quantizers: Sequence[Quantizer] | None) -> LLMEdgeManager:
        """Quantizes the captured graph. Without quantizers, it does not change.

        The model is calibrated with `calibration_data`, if the tokenizer and the number of tokens are given
        too, and with the example inputs otherwise.

        Args:
            quantizers: the quantizers. If two of them annotate an operator, the first one has priority.

        Raises:
            AssertionError: the step comes before `export` or after `export_to_edge`.
            ValueError: options of the calibration are not supported, or one of them is missing.
        """
        assert self.edge_manager is None, "call pt2e_quantize() before export_to_edge()"
        if not quantizers:
            return self
        calibration = Calibration.of(self)
        with _inference():
            prepared = prepare_pt2e(self._graph_module(), ComposableQuantizer(list(quantizers)))
            if calibration is not None:
                calibration.run(prepared)
            else:
                prepared(*self.example_inputs, **(self.example_kwarg_inputs or {}))
            quantized = convert_pt2e(prepared)
            DuplicateDynamicQuantChainPass()(quantized)
        self.pre_autograd_graph_module = quantized
        return self

    def pt2e_calibrate(
        self,
        prepared_module: torch.nn.Module,
        calibration_tasks: list[str] | None,
        calibration_limit: int | None,
        calibration_seq_length: int,
        calibration_data: str,
        tokenizer_path: str,
    ) -> None:
        """Calibrates a prepared graph: it completes a text, one token after another.

        Args:
            prepared_module: the graph with observers.
            calibration_tasks: must be empty, because tasks of lm_eval are not supported.
            calibration_limit: must be None.
            calibration_seq_length: the largest number of tokens.
            calibration_data: the start of the text.
            tokenizer_path: the file of the tokenizer.

        Raises:
            ValueError: there are tasks, or the model has a fixed number of tokens and returns the logits of
                the last one only.
        """
        Calibration(
            self,
            calibration_data,
            calibration_seq_length,
            tokenizer_path,
            calibration_tasks,
            calibration_limit,
        ).run(prepared_module)

    def export_to_edge(self) -> LLMEdgeManager:
        """Converts the captured graph to an edge program. If there is no captured graph, calls `export`."""
        if self.pre_autograd_graph_module is None:
            self.export()
        with _inference():
            self.edge_manager = export_to_edge(
                self._graph_module(),
                self.example_inputs,
                example_kwarg_inputs=self.example_kwarg_inputs,
                dynamic_shapes=self._get_dynamic_shape(),
                edge_constant_methods=self.metadata,
                edge_compile_config=self._get_edge_config(),
                strict=False,  # The captured graph is traced as it is.
                verbose=self.verbose,
                generate_etrecord=self.generate_etrecord,
            )
        return self

    def _edge_manager(self) -> EdgeProgramManager:
        assert self.edge_manager is not None, "there is no edge program; call export_to_edge() first"
        return self.edge_manager

    def to_backend(self, partitioners: Sequence[Partitioner | None] | None) -> LLMEdgeManager:
        """Delegates parts of the edge program.

        Args:
            partitioners: the partitioners, which run in order. Entries that are None are skipped.

        Raises:
            AssertionError: there is no edge program.
        """
        for partitioner in partitioners or ():
            if partitioner is None:
                continue
            self.edge_manager = self._edge_manager().to_backend(partitioner)
            if self.verbose:
                graph_module = self.edge_manager.exported_program().graph_module
                logger.info("after %s:\n%s", type(partitioner).__name__, format_delegated_graph(graph_module))
        return self

    def to_edge_transform_and_lower(
        self,
        partitioners: Sequence[Partitioner] | None,
        transform_passes: Sequence[Any] | None = None,
    ) -> LLMEdgeManager:
        """Converts the captured graph to an edge program and delegates parts of it.

        Args:
            partitioners: the partitioners.
            transform_passes: passes over the edge program that run before the partitioners.
        """
        self.edge_manager = to_edge_transform_and_lower(
            self._export(self.pre_autograd_graph_module),
            transform_passes=transform_passes,
            partitioner=None if partitioners is None else list(partitioners),
            compile_config=self._get_edge_config(),
            constant_methods=self.metadata,
            generate_etrecord=self.generate_etrecord,
        )
        if self.verbose:
            logger.info("edge program:\n%s", self.edge_manager.exported_program())
        return self

    def to_executorch(
        self,
        passes: Sequence[Any] | None = None,
        external_constants_tag: Callable[[Node], str | None] | None = None,
        share_mutable_buffers: bool = False,
    ) -> LLMEdgeManager:
        """Converts the edge program to a program file. The caller provides the memory of inputs.

        Args:
            passes: passes over the edge program.
            external_constants_tag: returns the name of the data file for a constant, or None.
            share_mutable_buffers: let buffers with the same qualified name share memory in all methods.

        Raises:
            AssertionError: there is no edge program.
        """
        self.export_program = self._edge_manager().to_executorch(
            ExecutorchBackendConfig(
                passes=list(passes or ()),
                do_quant_fusion_and_const_prop=True,
                memory_planning_pass=MemoryPlanningPass(
                    alloc_graph_input=False, share_mutable_buffers=share_mutable_buffers
                ),
                sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass(),
                external_constants=external_constants_tag or False,
            )
        )
        return self

    def save_to_pte(self, output_name: str) -> None:
        """Writes the program file, and its .ptd files, to `output_dir`.

        Args:
            output_name: the name of the file without .pte, or a path that ends with .pte.

        Raises:
            AssertionError: the name is empty, or there is no program.
            OSError: the file cannot be written.
        """
        assert output_name, "save_to_pte needs a name"
        assert self.export_program is not None, "there is no program; call to_executorch() first"
        self._saved_pte_filename = save_pte_program(self.export_program, output_name, self.output_dir)

    def get_saved_pte_filename(self) -> str | None:
        """Returns the path of the last program file; None if no file was written."""
        return self._saved_pte_filename
