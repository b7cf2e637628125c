"""Explains errors in programs of torch.export, and errors of torch.export itself, to users."""

from __future__ import annotations

import logging
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any, TextIO, cast

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.errors import CompileError, ExportError

_EVAL = (
    "call model.eval() before torch.export.export, "
    "or move_exported_model_to_eval(model) of torchao.quantization.pt2e after prepare_qat_pt2e"
)

# Exceptions of torch, by name, since their modules are its own affair.
_HELP = {
    "GuardOnDataDependentSymNode": "Python branches on a value that is known only when the program runs: "
    "use torch.cond for the branch, or torch._check to say what always holds",
    "DataDependentOutputException": "Python reads a value that is known only when the program runs: "
    "compute with tensors instead, and use torch.cond for branches",
    "DynamicOutputShapeException": "the size of a result depends on values of tensors, which torch cannot "
    "express for this operator: use one with a result of a fixed size, such as torch.where for a mask",
    "PendingUnbackedSymbolNotFound": "the size of a result depends on values of tensors, which torch loses: "
    "use operators with results of a fixed size",
    "UnsupportedOperatorException": "torch knows no shape for the result of this operator: give it a fake "
    "implementation with torch.library.register_fake",
}
_SPARSE = "SparseTensorImpl"


class TrainingModeWarning(UserWarning):
    """A program was exported in training mode."""


def check_program(name: str, program: ExportedProgram) -> None:
    """Refuses sparse tensors and batch norm in training mode, and warns of other operators in that mode.

    Programs with a backward pass are meant to be trained. Raises ExportError with the tensor's name, or the
    user's line.
    """
    _check_layouts(name, program)
    if program.graph_signature.backward_signature is not None:
        return
    trained: list[Node] = []
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            trained += [node for node in module.graph.nodes if _is_trained(node)]
    for node in trained:
        if _arguments(node).get("running_mean") is not None:
            raise ExportError(
                f"method {name!r} was exported in training mode: {_place(node)} would update its statistics "
                f"at every call; {_EVAL}"
            )
    if trained:
        warnings.warn(
            f"method {name!r} was exported in training mode: {_place(trained[0])} gives random results; "
            + _EVAL,
            TrainingModeWarning,
            stacklevel=4,
        )


def _check_layouts(name: str, program: ExportedProgram) -> None:
    stored: dict[str, object] = {**program.state_dict, **program.constants}
    for spec in program.graph_signature.input_specs:
        value = stored.get(spec.target) if spec.target is not None else None
        what = f"{spec.kind.name.lower().replace('_', ' ')} {spec.target!r}"
        if spec.kind is InputKind.USER_INPUT:
            node = next(n for n in program.graph.nodes if n.name == getattr(spec.arg, "name", None))
            value, what = meta.find_val(node), f"input {node.name!r}"
        if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
            raise ExportError(
                f"{what} of method {name!r} is a tensor of layout {value.layout}; "
                "programs hold dense tensors: use its to_dense()"
            )


def _arguments(node: Node) -> dict[str, Any]:
    assert isinstance(node.target, OpOverload)
    names = [argument.name for argument in node.target._schema.arguments]
    return dict(zip(names, node.args, strict=False)) | dict(node.kwargs)


def _is_trained(node: Node) -> bool:
    """Whether the node is random, or updates statistics, because a module is in training mode.

    A batch norm without statistics does neither: weight standardization normalizes weights with it.
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


def _place(node: Node) -> str:
    source = meta.source_of(node)
    return f"{node.target} ({node.name})" + (f" from {source}" if source is not None else "")


# What torch logs before it raises an error, by the name of the logger and the start of the message.
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
def _without_reports_of_torch() -> Iterator[None]:
    """Drops torch's log messages about an error that torch then raises."""

    def is_kept(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(_LOGGED[record.name])

    logs = [logging.getLogger(name) for name in _LOGGED]
    for log in logs:
        log.addFilter(is_kept)
    try:
        with redirect_stderr(cast(TextIO, _StandardError(sys.stderr))):
            yield
    finally:
        for log in logs:
            log.removeFilter(is_kept)


@contextmanager
def plain_words(model: torch.nn.Module | None = None) -> Iterator[None]:
    """Raises ExportError with the user's source line for torch errors whose cause is known.

    What torch logs and prints of these errors is dropped, because the error contains it.

    Args:
        model: the module that is exported. An error that torch raises while it runs one of the model's
            modules becomes an ExportError that names this module too.
    """
    try:
        with _without_reports_of_torch():
            yield
    except CompileError:
        raise
    except Exception as error:
        help_text = next(
            (_HELP[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _HELP), None
        )
        if help_text is None and _SPARSE in str(error):
            help_text = "programs hold dense tensors: use to_dense() of the sparse one"
        place = _line_of_user(error)
        if help_text is None:
            called = None if model is None else _module_called(error, model)
            if called is None:
                raise
            where = f"{place}: " if place else ""
            raise ExportError(f"{where}{error} (in {called})") from error
        reason = next((line for line in str(error).splitlines() if line), type(error).__name__)
        where = f"{place}: " if place else ""
        raise ExportError(f"{where}{help_text} (torch: {reason})") from error


def _module_called(error: BaseException, model: torch.nn.Module) -> str | None:
    """Returns which module of the model torch was running; None if torch did not raise the error there."""
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
    """The innermost line outside of torch and this package."""
    packages = (Path(torch.__file__).parent, Path(__file__).parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        path = Path(frame.filename)
        if frame.filename.startswith("<") or any(package in path.parents for package in packages):
            continue
        if path.name in ("contextlib.py", "functools.py"):
            continue
        return f"{frame.filename}:{frame.lineno}: {frame.line}"
    return None
