"""Finds the features that programs use: operators with dtypes, steps of CPU plans and instruction sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.backends.cpu.plan.tables import (
    Plan,
    Prologue,
    Reduction,
    UnaryFunction,
    WeightOnlyGemm,
    Window,
)
from rushlight.format.program import (
    DelegateCall,
    ExecutionPlan,
    KernelCall,
    OptionalTensorList,
    ScalarType,
    Tensor,
    TensorList,
)
from rushlight.format.pte import BUNDLE_IDENTIFIER, PTEFile, read_pte
from rushlight.target.kernel_table import parse_kernel_table

Dtypes = frozenset[ScalarType] | None
"""The dtypes of tensors; None for all dtypes."""

CPU_BACKEND = "CpuBackend"

# The dtypes whose torch names differ from the lower-case names in the format.
_TORCH_NAMES = {
    "uint8": ScalarType.BYTE,
    "int8": ScalarType.CHAR,
    "int16": ScalarType.SHORT,
    "int32": ScalarType.INT,
    "int64": ScalarType.LONG,
    "float16": ScalarType.HALF,
    "float32": ScalarType.FLOAT,
    "float64": ScalarType.DOUBLE,
}


# What Usage.features may contain.
FEATURES = frozenset({"f16", "extremes", "grouped", "prologue"})


@dataclass(frozen=True)
class Usage:
    """The features of a runtime that programs use.

    Attributes:
        operators: the dtypes of the tensors in calls, by operator name with overload; None for all dtypes.
        steps: the names of the operations in CPU plans, such as `Gemm`.
        functions: the unary functions in CPU plans.
        windows: the sizes of the square windows in CPU plans.
        features: the parts of microkernels that CPU plans use: "f16" (float16 or bfloat16), "extremes"
            (maxima and minima over dimensions), "grouped" (float32 matrix products with int8 weights that
            have a scale for each group) and "prologue" (matrix products with a prologue).
        targets: the instruction sets of CPU plans, such as `avx2`.
        every_operator: whether all operators are used, not only those in `operators`.
    """

    operators: Mapping[str, Dtypes] = field(default_factory=dict)
    steps: frozenset[str] = frozenset()
    functions: frozenset[UnaryFunction] = frozenset()
    windows: frozenset[int] = frozenset()
    features: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    every_operator: bool = False

    def __or__(self, other: Usage) -> Usage:
        operators = dict(self.operators)
        for name, dtypes in other.operators.items():
            operators[name] = _union(operators[name], dtypes) if name in operators else dtypes
        return Usage(
            operators,
            steps=self.steps | other.steps,
            functions=self.functions | other.functions,
            windows=self.windows | other.windows,
            features=self.features | other.features,
            targets=self.targets | other.targets,
            every_operator=self.every_operator or other.every_operator,
        )

    @property
    def dtypes(self) -> Dtypes:
        """The dtypes of all operators."""
        found: Dtypes = None if self.every_operator else frozenset()
        for dtypes in self.operators.values():
            found = _union(found, dtypes)
        return found


def _union(a: Dtypes, b: Dtypes) -> Dtypes:
    return None if a is None or b is None else a | b


def read_usage(path: Path) -> Usage:
    """Reads the features that a file uses or lists.

    Args:
        path: a program (`.pte`), a program with test cases (`.bpte`), ExecuTorch's `selected_operators.yaml`
            (`.yaml`, `.yml`), or a text file in the format of kernel tables, with lines such as
            `aten::add.out float32`. A line without dtypes selects all dtypes.

    Raises:
        ValueError: the file has none of these formats, or a program uses a backend other than CpuBackend. The
            message names the file.
        OSError: the file cannot be read.
    """
    try:
        return _usage_of_file(path)
    except ValueError as error:
        message = str(error)
        raise ValueError(message if str(path) in message else f"{path}: {message}") from error


def _usage_of_file(path: Path) -> Usage:
    if path.suffix in (".yaml", ".yml"):
        return _usage_of_yaml(path)
    if path.suffix in (".pte", ".bpte"):
        return usage_of_program(program_of(path.read_bytes()), str(path))
    try:
        rows = parse_kernel_table(path.read_text(encoding="utf-8")).kernels
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is neither a program (.pte, .bpte), a .yaml file nor a list of operators"
        ) from error
    usage = Usage()
    for name, kernels in rows.items():
        for row in kernels:
            sets = [row.dtypes, *(dtypes for _, dtypes in row.others)]
            usage |= Usage({name: _dtypes_named(sets, path)})
    return usage


def is_bundled_program(data: bytes) -> bool:
    """Whether the bytes are a program with test cases, a `.bpte` file."""
    return data[4:8] == BUNDLE_IDENTIFIER


def program_of(data: bytes) -> bytes:
    """Returns the bytes of the program (`.pte`), given the bytes of a `.pte` or a `.bpte` file."""
    if not is_bundled_program(data):
        return data
    from rushlight.devtools.bundled_program.serialize import (
        deserialize_from_flatbuffer_to_bundled_program,
    )

    return bytes(deserialize_from_flatbuffer_to_bundled_program(data).program)


def _dtypes_named(sets: Iterable[frozenset[str] | None], path: Path) -> Dtypes:
    found: set[ScalarType] = set()
    for names in sets:
        if names is None:
            return None
        for name in names:
            dtype = _TORCH_NAMES.get(name, ScalarType.__members__.get(name.upper()))
            if dtype is None:
                raise ValueError(f"{path}: no dtype is named {name}")
            found.add(dtype)
    return frozenset(found)


def usage_of_program(data: bytes, name: str = "the program") -> Usage:
    """Returns the features that a program uses.

    Args:
        data: the bytes of a `.pte` file.
        name: the name of the program in messages.

    Raises:
        ValueError: the program uses a backend other than CpuBackend.
    """
    file = read_pte(data)
    usage = Usage()
    for plan in file.program.execution_plan:
        for instruction in (i for chain in plan.chains for i in chain.instructions):
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                operator = plan.operators[call.op_index].full_name
                usage |= Usage({operator: frozenset(_tensor_dtypes(plan, call.args))})
            elif isinstance(call, DelegateCall):
                usage |= _usage_of_delegate(file, plan, call.delegate_index, name)
    return usage


def _tensor_dtypes(plan: ExecutionPlan, values: Iterable[int]) -> Iterable[ScalarType]:
    for index in values:
        value = plan.values[index].val if index >= 0 else None
        if isinstance(value, Tensor):
            yield ScalarType(value.scalar_type)
        elif isinstance(value, (TensorList, OptionalTensorList)):
            yield from _tensor_dtypes(plan, value.items)


def _usage_of_delegate(file: PTEFile, plan: ExecutionPlan, index: int, name: str) -> Usage:
    delegate = plan.delegates[index]
    if delegate.id != CPU_BACKEND:
        raise ValueError(
            f"{name}: method '{plan.name}' uses {delegate.id}, which selective builds do not support; "
            f"compile the model for {CPU_BACKEND} or without a backend"
        )
    return usage_of_plan(read_plan(bytes(file.delegate_data[delegate.processed.index])))


def usage_of_plan(plan: Plan) -> Usage:
    """Returns the features that a plan of the CPU backend uses."""
    parts = list(_parts(plan.steps))
    windows = (part for part in parts if isinstance(part, Window))
    return Usage(
        steps=frozenset(type(step.operation).__name__ for step in plan.steps),
        functions=frozenset(
            part for part in parts if isinstance(part, UnaryFunction) and part != UnaryFunction.NONE
        ),
        windows=frozenset(window.kernel_h for window in windows if window.kernel_h == window.kernel_w),
        features=frozenset(_features(plan, parts)),
        targets=frozenset({plan.target}),
    )


def _features(plan: Plan, parts: list[object]) -> Iterator[str]:
    """Yields the features of `FEATURES` that a plan uses."""
    if any(value.dtype in (ScalarType.HALF, ScalarType.BFLOAT16) for value in plan.values):
        yield "f16"
    reductions = [part for part in parts if isinstance(part, Reduction)]
    if Reduction.MAXIMUM in reductions or Reduction.MINIMUM in reductions:
        yield "extremes"
    if any(isinstance(part, WeightOnlyGemm) for part in parts):
        yield "grouped"
    if any(isinstance(part, Prologue) for part in parts):
        yield "prologue"


def _parts(value: object) -> Iterator[object]:
    """Yields a value and all values that it contains."""
    yield value
    if isinstance(value, list):
        for item in value:
            yield from _parts(item)
    elif is_dataclass(value):
        for attribute in fields(value):
            yield from _parts(getattr(value, attribute.name))


def read_yaml(path: Path) -> Any:
    """Reads a YAML file.

    Raises:
        ValueError: the file is not valid YAML, or PyYAML is not installed. The message names the file.
        OSError: the file cannot be read.
    """
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError as error:
        raise ValueError(f"{path}: reading YAML needs the package PyYAML: pip install pyyaml") from error
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    # PyYAML raises errors of several types for scalars such as !!int "" and for files with too many levels.
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not valid YAML: {error}") from error
    except RecursionError:
        raise ValueError(f"{path} is not valid YAML: it has too many levels") from None


def _usage_of_yaml(path: Path) -> Usage:
    """Returns the features that a file of ExecuTorch's selective build lists."""
    content = read_yaml(path)
    if not isinstance(content, dict) or not isinstance(content.get("operators", {}), dict):
        raise ValueError(f"{path} is not a selected_operators.yaml: it has no mapping `operators`")
    kernels: dict[str, Any] = content.get("et_kernel_metadata") or {}
    if not isinstance(kernels, dict):
        raise ValueError(f"{path}: `et_kernel_metadata` is not a mapping from operators to kernel keys")
    operators = {str(name): dtypes_of_keys(kernels.get(name)) for name in content.get("operators") or {}}
    return Usage(operators, every_operator=bool(content.get("include_all_operators")))


def dtypes_of_keys(keys: Any) -> Dtypes:
    """Returns the dtypes in keys such as `v1/6;0,1|6;0,1`: the dtype and the dim order of each tensor."""
    if not isinstance(keys, list | dict | None):
        raise ValueError(f"the kernel keys {keys!r} are neither a list nor a mapping")
    found: set[ScalarType] = set()
    for key in keys or ["default"]:
        match = re.fullmatch(r"v1/(.+)", str(key))
        if match is None:
            return None
        try:
            found.update(ScalarType(int(part.split(";")[0])) for part in match[1].split("|") if part.strip())
        except ValueError as error:
            raise ValueError(
                f"the kernel key {key!r} contains an invalid number of a dtype: {error}"
            ) from error
    return frozenset(found)
