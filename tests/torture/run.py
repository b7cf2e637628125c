"""Runs one case in every configuration."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from tests.torture.case import Case, fixed
from tests.torture.configurations import THREADS, compile_program, configurations_of, further_of, quantized
from tests.torture.eager import plain_control_flow
from tests.torture.execute import Calls, brief, execute
from tests.torture.judge import problem
from tests.torture.model import Model, leaves, load
from tests.torture.reference import FloatReference, QuantizedReference, Reference
from torch.export import ExportedProgram
from torch.fx import Interpreter, Node
from torch.utils import _pytree as pytree

from rushlight.ir.errors import CompileError, InternalError, PassError
from rushlight.quantize import QuantizationError

OUTCOMES = (
    "wrong",
    "unrepeatable",
    "changed",
    "error",
    "internal",
    "refused",
    "crash",
    "hang",
    "sanitizer",
    "harness",
)


@dataclass(frozen=True)
class Finding:
    """A configuration that failed; `outcome` is one of OUTCOMES.

    wrong: the results differ from eager PyTorch. unrepeatable: a second run has other results. changed: an
    input was overwritten. error: the runtime raised an error. internal: the compiler raised another error
    than a CompileError. refused: the compiler raised a CompileError. crash: the process ended. hang: it
    exceeded the time limit. sanitizer: a sanitizer reported an error. harness: an error of the test code.
    """

    configuration: str
    outcome: str
    message: str
    call: int = 0
    threads: int = 1


@dataclass
class Result:
    """The result of a case. skipped: the reason if torch does not support the case."""

    findings: list[Finding] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    skipped: str = ""
    passed: list[str] = field(default_factory=list)
    kind: str = ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measures the time of a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass
class _Expected:
    """The outputs of eager PyTorch in each call, and the inputs after the call."""

    outputs: list[list[Any]]
    inputs: list[list[Any]]


@dataclass
class _Subject:
    """What every configuration compiles and runs.

    Attributes:
        model: the module of the case, and its arguments.
        program: the exported program, quantized if the case has a quantizer.
        expected: the results of eager PyTorch.
        reference: decides which other results are also right.
    """

    model: Model
    program: ExportedProgram
    expected: _Expected
    reference: Reference

    @property
    def calls(self) -> range:
        """The indices of the calls."""
        return range(len(self.model.case.calls))


class _Skipped(Exception):
    """Torch does not support the case."""


Execute = Callable[[bytes, int, Sequence[tuple[Any, ...]]], Calls]


def run(
    case: Case,
    configurations: Sequence[str] = (),
    threads: Sequence[int] = THREADS,
    executor: Execute = execute,
) -> Result:
    """Compiles and runs a case in each configuration.

    Args:
        case: the case.
        configurations: the names of configurations. If it is empty, the configurations for the case's
            quantizer.
        threads: the numbers of threads with which each program runs.
        executor: loads and calls the programs.
    """
    result = Result(kind=case.kind)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            further = further_of(case.seed, case.index, case.quantizer)
            chosen = configurations or (*configurations_of(case.quantizer), further)
            if "further" in chosen:
                chosen = tuple(further if name == "further" else name for name in chosen)
            _run(case, chosen, threads, result, executor)
        except _Skipped as error:
            result.skipped = str(error)
    return result


def _run(
    case: Case, configurations: Sequence[str], threads: Sequence[int], result: Result, executor: Execute
) -> None:
    model, program = _exported(case, result)
    reference: Reference
    if case.quantizer:
        try:
            with result.stage("quantize"):
                program = _quantized(model, program)
        except QuantizationError as error:
            raise _Skipped(f"quantize: {brief(error)}") from None
        reference = QuantizedReference(model, program)
    else:
        reference = FloatReference(model)
    try:
        with result.stage("eager"):
            expected = _expected(model, program if case.quantizer else None)
    except Exception as error:
        raise _Skipped(f"eager: {brief(error)}") from None
    subject = _Subject(model, program, expected, reference)
    for configuration in configurations:
        finding = _first_finding(subject, configuration, threads, result, executor)
        if finding is None:
            result.passed.append(configuration)
        else:
            result.findings.append(finding)
    if result.findings and not case.quantizer:
        with result.stage("torch"):
            reason = _undecomposed(model, result.findings) or _torch_itself(model, expected, reference)
        if reason:
            result.findings.clear()
            raise _Skipped(f"torch: {reason}")


def _exported(case: Case, result: Result) -> tuple[Model, ExportedProgram]:
    """Returns the exported program. If torch cannot export dynamic sizes, they are static."""
    try:
        model = load(case)
        with result.stage("export"):
            return model, model.export()
    except Exception as error:
        if not case.dims:
            raise _Skipped(f"export: {brief(error)}") from None
    result.kind = case.kind.removesuffix(", dynamic")
    return _exported(fixed(case, case.calls[0]), result)


def _quantized(model: Model, program: ExportedProgram) -> ExportedProgram:
    data = [model.arguments(0, seed) for seed in range(3)]
    return quantized(program, model.case.quantizer, data)


def _expected(model: Model, program: ExportedProgram | None) -> _Expected:
    module = model.module() if program is None else program.module()
    outputs, inputs = [], []
    for call in range(len(model.case.calls)):
        arguments = model.arguments(call)
        with plain_control_flow():
            outputs.append(copies(module(*arguments)))
        inputs.append(copies(arguments))
    return _Expected(outputs, inputs)


def copies(tree: Any) -> list[Any]:
    """Returns the leaves with copies of tensors."""
    return [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves(tree)]


def _first_finding(
    subject: _Subject, configuration: str, threads: Sequence[int], result: Result, executor: Execute
) -> Finding | None:
    """Compiles and runs the program in a configuration, and returns the first finding."""
    try:
        with result.stage(configuration):
            blob = compile_program(subject.program, configuration)
    except Exception as error:
        refused = isinstance(error, CompileError) and not isinstance(error, (InternalError, PassError))
        return Finding(configuration, "refused" if refused else "internal", brief(error))
    judged: list[list[Any]] = []  # the outputs of each call with the previous number of threads
    for count in threads:
        outputs = _repeated_outputs(subject, configuration, blob, count, result, executor)
        if isinstance(outputs, Finding):
            return outputs
        with result.stage("judge"):
            for call, got in enumerate(outputs):
                if judged and _identical(got, judged[call]):
                    continue
                text = problem(got, subject.expected.outputs[call], subject.reference, call, configuration)
                if text:
                    return Finding(configuration, "wrong", text, call, count)
        judged = outputs
    return None


def _repeated_outputs(
    subject: _Subject, configuration: str, blob: bytes, threads: int, result: Result, executor: Execute
) -> list[list[Any]] | Finding:
    """Runs the calls twice, and returns the outputs of each call, or a finding if the runs do not agree.

    Each time, the program is loaded again. The inputs of the second run have other strides.
    """
    first: list[list[Any]] = []
    for has_other_strides in (False, True):
        arguments = [subject.model.arguments(call) for call in subject.calls]
        if has_other_strides:
            arguments = pytree.tree_map(_other_strides, arguments)
        with result.stage("run"):
            made = executor(blob, threads, arguments)
        for call, got in enumerate(made.outputs):
            text = _changed(subject.model, call, made.arguments[call], subject.expected.inputs[call])
            if text:
                return Finding(configuration, "changed", text, call, threads)
            if len(first) <= call:
                first.append(got)
            elif not _identical(got, first[call]):
                return Finding(configuration, "unrepeatable", "other bits", call, threads)
        if made.error:
            return Finding(configuration, "error", made.error, len(made.outputs), threads)
    return first


def _other_strides(value: Any) -> Any:
    """Returns a tensor with the same numbers in another layout."""
    if not isinstance(value, torch.Tensor) or value.dim() < 2:
        return value
    return value.transpose(0, -1).contiguous().transpose(0, -1)


def _changed(model: Model, call: int, arguments: list[Any], allowed: list[Any]) -> str:
    """Returns a text about an input that a call has changed in another way than eager PyTorch."""
    before = leaves(model.arguments(call))
    for i, (a, b, c) in enumerate(zip(arguments, before, allowed, strict=True)):
        if isinstance(a, torch.Tensor) and not _same(a, b) and problem([a], [c], None, 0, ""):
            return f"input {i} is changed"
    return ""


def _undecomposed(model: Model, findings: Sequence[Finding]) -> str:
    """Returns the error of torch's decompositions if it is the only finding, or an empty text."""
    if any(f.outcome != "internal" for f in findings):
        return ""
    try:
        model.export().run_decompositions()
    except Exception as error:
        text = brief(error)
        return text if all(f.message == text for f in findings) else ""
    return ""


def _torch_itself(model: Model, expected: _Expected, reference: Reference) -> str:
    """Returns the difference between module and exported program in torch itself, or an empty text."""
    try:
        program = model.export()
        for call in range(len(expected.outputs)):
            text = _not_as_declared(program, model.arguments(call))
            if text:
                return f"call {call}: {text}"
        module = program.run_decompositions({}).module()
        for call, want in enumerate(expected.outputs):
            got = leaves(module(*model.arguments(call)))
            text = problem(got, want, reference, call, "")
            if text:
                return f"call {call}: {text}"
    except Exception as error:
        return brief(error)
    return ""


class _Declared(Interpreter):
    """Runs a program, and compares dtypes and static sizes with those that torch.export declares."""

    problem = ""

    def run_node(self, n: Node) -> Any:
        """Runs a node, and stores a difference in `problem`."""
        result = super().run_node(n)
        declared = n.meta.get("val")
        if isinstance(result, torch.Tensor) and isinstance(declared, torch.Tensor) and not self.problem:
            for a, b in zip(result.shape, declared.shape, strict=False):
                if isinstance(b, int) and a != b:
                    self.problem = f"{n.target} is exported with size {b}, but has {a}"
            if result.dtype != declared.dtype:
                self.problem = f"{n.target} is exported as {declared.dtype}, but gives {result.dtype}"
        return result


def _not_as_declared(program: ExportedProgram, arguments: tuple[Any, ...]) -> str:
    """Returns a text about a node with another dtype or static size than declared, or an empty text."""
    declared = _Declared(program.module(check_guards=False))
    declared.run(*leaves(arguments))
    return declared.problem


def _identical(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(
        _same(x, y) if isinstance(x, torch.Tensor) else x == y for x, y in zip(a, b, strict=True)
    )


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())


def to_dict(result: Result) -> dict[str, Any]:
    return dataclasses.asdict(result)


def from_dict(data: dict[str, Any]) -> Result:
    return Result(**{**data, "findings": [Finding(**f) for f in data["findings"]]})
