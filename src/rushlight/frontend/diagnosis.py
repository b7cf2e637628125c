"""Explains to users the errors in exported programs and the errors of torch.export itself."""

from __future__ import annotations

import logging
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any, TextIO, cast

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.errors import CompileError, ExportError
from rushlight.ir.verifier import stands_for_executorch

_EVAL = (
    "call model.eval() before torch.export.export, "
    "or move_exported_model_to_eval(model) of torchao.quantization.pt2e after prepare_qat_pt2e"
)

# Names of torch's exceptions. They are not imported, because their modules are private to torch.
_HELP = {
    "GuardOnDataDependentSymNode": "Python branches on a value that is known only when the program runs: "
    "use torch.cond for the branch, or torch._check to state a condition that always holds; if the value is "
    "an index, as in x[i] = y, give it a dim: x[i.reshape(1)]",
    "DataDependentOutputException": "Python reads a value that is known only when the program runs: "
    "compute with tensors instead, and use torch.cond for branches",
    "DynamicOutputShapeException": "the size of a result depends on values of tensors, which torch cannot "
    "express for this operator: use an operator with a result of a fixed size, such as torch.where for a "
    "mask",
    "PendingUnbackedSymbolNotFound": "the size of a result depends on values of tensors, but no result of "
    "the operator has this size: use operators with results of a fixed size",
    "UnsupportedOperatorException": "torch cannot determine the shape of this operator's result: register a "
    "fake implementation with torch.library.register_fake",
}

_DIMS_IN_PLACE = (
    "an operator such as t_ or unsqueeze_ changes the dims of a tensor of the model in place: "
    "use the operator without the underscore, such as t or unsqueeze"
)

# The same by a part of torch's message.
_HELP_BY_TEXT = {
    "Constraints violated": "the model does not accept all sizes that dynamic_shapes gives",
    "Detected mismatch between the structure of": "dynamic_shapes needs one entry for each input, in the "
    "structure of the inputs",
    "type must be tuple of ints,but got FakeTensor": "torch cannot export a packed sequence: run the module "
    "on the padded batch, and select the last valid step of each sequence",
    "num_mutated_inp_runtime_indices": _DIMS_IN_PLACE,
    "metadata mutating ops on non-Fake Tensor": _DIMS_IN_PLACE,
    "sources must not be empty for symbol": "torch cannot trace the sizes of an input, for example because "
    "an operator such as t_ or unsqueeze_ changes its dims in place: use t or unsqueeze",
    "SparseTensorImpl": "programs can contain only dense tensors: call to_dense() of the sparse tensor",
    "do not support input mutation": "torch exports a body of cond or while_loop that writes to a tensor "
    "only within torch.no_grad(), and a body of map or scan never: compile or export the model within "
    "torch.no_grad(), or return the new value from the body",
    "fake tensor in the exported program constant's list": "torch cannot trace where a tensor comes from, "
    "for example x.data: use x itself, or x.detach()",
}

_CHECK_OF_VALUES = "a distribution checks the values of its tensors: pass validate_args=False"

# The same for branches on values, by the function of torch that branches.
_HELP_BY_FUNCTION = {
    "torch.distributions.distribution.__init__": _CHECK_OF_VALUES,
    "torch.distributions.distribution._validate_sample": _CHECK_OF_VALUES,
    "torch.nn.modules.transformer._detect_is_causal_mask": "torch reads the values of a mask to learn "
    "whether it is causal: pass is_causal=True or is_causal=False (src_is_causal and tgt_is_causal for "
    "nn.Transformer)",
}


class TrainingModeWarning(UserWarning):
    """A program was exported in training mode."""


def check_program(name: str, program: ExportedProgram) -> None:
    """Checks that a program has only dense tensors and was exported in evaluation mode.

    Operators that give random results in training mode, such as dropout, cause a TrainingModeWarning. The
    mode of programs with a backward pass is not checked, because they are exported for training.

    Args:
        name: the name of the method.
        program: its program.

    Raises:
        ExportError: a tensor is sparse, the sizes of a buffer change, or a batch norm is in training mode.
            The message has the tensor's name or the user's source line. After `install_as_executorch()`, a
            batch norm in training mode causes a TrainingModeWarning instead, as ExecuTorch compiles it.
    """
    _check_tensors(name, program)
    _check_dims_of_state(name, program)
    if program.graph_signature.backward_signature is not None:
        return
    in_training: list[Node] = []
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            in_training += [node for node in module.graph.nodes if _changes_in_training(node)]
    if not in_training:
        return
    norms = [node for node in in_training if _arguments(node).get("running_mean") is not None]
    what = "would update its statistics at every call" if norms else "gives random results"
    place = place_of((norms or in_training)[0])
    message = f"method {name!r} was exported in training mode: {place} {what}; {_EVAL}"
    if norms and not stands_for_executorch():
        raise ExportError(message)
    warnings.warn(message, TrainingModeWarning, stacklevel=4)


def _check_tensors(name: str, program: ExportedProgram) -> None:
    stored: dict[str, object] = {**program.state_dict, **program.constants}
    for spec in program.graph_signature.input_specs:
        value = stored.get(spec.target) if spec.target is not None else None
        what = f"{spec.kind.name.lower().replace('_', ' ')} {spec.target!r}"
        if spec.kind is InputKind.USER_INPUT:
            node = next(n for n in program.graph.nodes if n.name == getattr(spec.arg, "name", None))
            value, what = meta.find_val(node), f"input {node.name!r}"
        if isinstance(value, torch.Tensor) and is_functorch_wrapped_tensor(value):
            raise ExportError(
                f"{what} of method {name!r} has no value, because torch cannot trace a derivative of "
                "torch.func, such as jacrev: compute the derivative with operators"
            )
        if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
            raise ExportError(
                f"{what} of method {name!r} is a tensor of layout {value.layout}; "
                "programs can contain only dense tensors: convert this tensor with to_dense()"
            )


def _check_dims_of_state(name: str, program: ExportedProgram) -> None:
    """Refuses buffers and parameters whose sizes are different after a call."""
    state = {**program.graph_signature.inputs_to_buffers, **program.graph_signature.inputs_to_parameters}
    placeholders = {node: node for node in program.graph.find_nodes(op="placeholder") if node.name in state}
    last = dict(placeholders)  # the last node that changes the dims of a tensor, by its placeholder
    for node in program.graph.nodes:
        if isinstance(node.target, OpOverload) and torch.Tag.inplace_view in node.target.tags:
            placeholder = placeholders.get(node.args[0])
            if placeholder is not None:
                placeholders[node], last[placeholder] = placeholder, node
    for placeholder, node in last.items():
        before, after = meta.get_val(placeholder).shape, meta.get_val(node).shape
        if before != after:
            raise ExportError(
                f"method {name!r}: {place_of(node)} changes the sizes of {state[placeholder.name]!r} in "
                f"place from {tuple(before)} to {tuple(after)}; sizes of buffers and parameters are fixed: "
                "use the operator without the underscore, such as t or unsqueeze"
            )


def _arguments(node: Node) -> dict[str, Any]:
    assert isinstance(node.target, OpOverload)
    names = [argument.name for argument in node.target._schema.arguments]
    return dict(zip(names, node.args, strict=False)) | dict(node.kwargs)


def _changes_in_training(node: Node) -> bool:
    """Whether the node is random, or updates statistics, because a module is in training mode.

    A batch norm without statistics does neither. Models use it in evaluation mode too, for example to
    standardize weights.
    """
    if node.op != "call_function" or not isinstance(node.target, OpOverload):
        return False
    if node.target.namespace != "aten":
        return False
    given = _arguments(node)
    if given.get("train", given.get("training")) is not True:
        return False
    if "running_mean" in given:
        return given["running_mean"] is not None
    chance = given.get("p", given.get("dropout"))
    return chance is None or chance > 0


def place_of(node: Node) -> str:
    """Returns the operator, the name and the source line of a node."""
    source = meta.source_of(node)
    return f"{node.target} ({node.name})" + (f" from {source}" if source is not None else "")


# Messages that torch logs before it raises an error: the start of the message by the name of the logger.
_LOGGED = {
    "torch._subclasses.fake_tensor": "failed while attempting to run meta for",
    "torch.fx.experimental.symbolic_shapes": "Unable to find user code corresponding to",
}


class _StandardError:
    """Writes text to a stream, except the partial graph that torch prints before an export error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._dropped = False

    def write(self, text: str) -> int:
        is_end_of_line = self._dropped and text == "\n"
        self._dropped = text.lstrip("\n").startswith("def forward(self, ")
        return len(text) if self._dropped or is_end_of_line else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _without_torch_logs() -> Iterator[None]:
    """Drops torch's log messages about an error that torch then raises."""

    def is_kept(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(_LOGGED[record.name])

    logs = [logging.getLogger(name) for name in _LOGGED]
    for log in logs:
        log.addFilter(is_kept)
    try:
        with warnings.catch_warnings(), redirect_stderr(cast(TextIO, _StandardError(sys.stderr))):
            # torch takes the list of weights of a recurrent layer for an attribute that forward sets.
            warnings.filterwarnings("ignore", "The tensor attributes .*_flat_weights")
            yield
    finally:
        for log in logs:
            log.removeFilter(is_kept)


@contextmanager
def plain_words(model: torch.nn.Module | None = None, what: str | None = None) -> Iterator[None]:
    """Replaces torch's errors by an ExportError with an explanation and the user's source line.

    Errors whose cause is not known are raised unchanged, unless `what` is given. Torch's log messages about
    the explained errors and the graph that torch prints are dropped.

    Args:
        model: the module that is exported. If torch raises an error while it runs one of the model's
            modules, the ExportError names this module too.
        what: what failed if torch raises an error of unknown cause.

    Raises:
        ExportError: torch raised an error that this module can explain, or any error if `what` is given.
    """
    try:
        with _without_torch_logs():
            yield
    except CompileError:
        raise
    except Exception as error:
        help_text = _help_for(error)
        place = _line_of_user(error)
        if help_text is None:
            called = None if model is None else _module_called(error, model)
            if called is None and what is not None:
                raise ExportError(f"{what}: {type(error).__name__}: {_reason(error)}") from error
            if called is None:
                raise
            where = f"{place}: " if place else ""
            raise ExportError(f"{where}{error} (in {called})") from error
        reason = _reason(error)
        if "to be a constant" in reason and any(isinstance(m, torch.nn.RNNBase) for m in _modules(model)):
            help_text += "; recurrent layers need a fixed number of steps, because torch unrolls them"
        where = f"{place}: " if place else ""
        raise ExportError(f"{where}{help_text} (torch: {reason})") from error


def _modules(model: torch.nn.Module | None) -> Iterable[torch.nn.Module]:
    return () if model is None else model.modules()


def _reason(error: Exception) -> str:
    """Returns the part of torch's message that names the cause."""
    lines = [line.strip().removeprefix("- ") for line in str(error).splitlines() if line.strip()]
    if lines and "Constraints violated" in lines[0]:
        # The first violated conditions, and sizes that satisfy all of them.
        fixes = next((i for i, line in enumerate(lines) if line == "Suggested fixes:"), len(lines))
        return " ".join((*lines[1:3], *lines[fixes : fixes + 2]))
    return lines[0] if lines else type(error).__name__


def _help_for(error: Exception) -> str | None:
    """Returns the explanation of an error of torch; None if there is none."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    explanations = [_HELP[kind] for kind in kinds if kind in _HELP]
    explanations += [text for part, text in _HELP_BY_TEXT.items() if part in str(error)]
    if "GuardOnDataDependentSymNode" in kinds:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        names = [f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}" for frame in frames]
        explanations[:0] = [_HELP_BY_FUNCTION[name] for name in names if name in _HELP_BY_FUNCTION]
    return explanations[0] if explanations else None


def _module_called(error: BaseException, model: torch.nn.Module) -> str | None:
    """Names the innermost module that was running. Returns None if torch's code did not raise the error."""
    names = {id(module): name for name, module in model.named_modules()}
    called: torch.nn.Module | None = None
    file = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.nn.Module) and id(owner) in names:
            called = owner
    if called is None or Path(torch.__file__).parent not in Path(file).parents:
        return None
    name = names[id(called)]
    return f"module {name!r}, {type(called).__name__}" if name else f"the model, {type(called).__name__}"


def _line_of_user(error: BaseException) -> str | None:
    """Returns the innermost source line outside of torch and this package."""
    packages = (Path(torch.__file__).parent, Path(__file__).parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        path = Path(frame.filename)
        if frame.filename.startswith("<") or any(package in path.parents for package in packages):
            continue
        if path.name in ("contextlib.py", "functools.py"):
            continue
        return f"{frame.filename}:{frame.lineno}: {(frame.line or '').removesuffix(':')}"
    return None
