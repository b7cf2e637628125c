"""Compares two programs, as ExecuTorch's `devtools.pte_tool` does. The result consists of dataclasses.

The command `rushlight diff` prints a comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from rushlight.format.errors import FormatError
from rushlight.format.program import (
    DelegateCall,
    ExecutionPlan,
    ExtraTensorInfo,
    KernelCall,
    ScalarType,
    Tensor,
)
from rushlight.format.pte import PTEFile, read_pte

_NUMPY = {
    ScalarType.BYTE: "u1",
    ScalarType.CHAR: "i1",
    ScalarType.SHORT: "<i2",
    ScalarType.INT: "<i4",
    ScalarType.LONG: "<i8",
    ScalarType.HALF: "<f2",
    ScalarType.FLOAT: "<f4",
    ScalarType.DOUBLE: "<f8",
    ScalarType.BOOL: "?",
    ScalarType.QUINT8: "u1",
    ScalarType.QINT8: "i1",
    ScalarType.QINT32: "<i4",
}


@dataclass
class OperatorUsage:
    """A use of a value: the operator of an instruction, and the index of the argument."""

    name: str
    arg_index: int


@dataclass
class TensorInfo:
    """A tensor of a method, and the instructions that have it as an argument."""

    evalue_index: int
    scalar_type: ScalarType
    sizes: list[int]
    fqn: str | None
    data_buffer_idx: int
    operator_usages: list[OperatorUsage] = field(default_factory=list)


@dataclass
class FieldDiff:
    """A field whose values differ."""

    field_name: str
    value_a: Any
    value_b: Any


@dataclass
class ElementDiff:
    """An element of a tensor whose values differ."""

    flat_index: int
    multi_index: tuple[int, ...]
    value_a: float
    value_b: float


@dataclass
class TensorDataDiff:
    """Two tensors that differ in their fields or data.

    Attributes:
        num_elements: the number of elements; 0 if the data cannot be compared by element.
        num_differing: the number of elements that differ.
        max_abs_diff, mean_abs_diff: the largest absolute difference, and the mean over all elements.
        element_diffs: the first elements that differ.
    """

    tensor_a: TensorInfo
    tensor_b: TensorInfo
    byte_size_a: int
    byte_size_b: int
    bytes_differ: bool
    metadata_diffs: list[FieldDiff] = field(default_factory=list)
    num_elements: int = 0
    num_differing: int = 0
    max_abs_diff: float = 0.0
    mean_abs_diff: float = 0.0
    element_diffs: list[ElementDiff] = field(default_factory=list)


@dataclass
class EValueDiff:
    """Two values at the same index whose types differ, or whose fields differ if they are not tensors."""

    evalue_index: int
    type_a: str
    type_b: str
    type_mismatch: bool = False
    field_diffs: list[FieldDiff] = field(default_factory=list)
    operator_usages_a: list[OperatorUsage] = field(default_factory=list)
    operator_usages_b: list[OperatorUsage] = field(default_factory=list)


@dataclass
class ExecutionPlanDiff:
    """The differences between two methods. A field is None or empty if there is no difference."""

    plan_index: int
    name_a: str | None = None
    name_b: str | None = None
    operators_only_in_a: list[str] = field(default_factory=list)
    operators_only_in_b: list[str] = field(default_factory=list)
    delegates_only_in_a: list[str] = field(default_factory=list)
    delegates_only_in_b: list[str] = field(default_factory=list)
    non_const_buffer_sizes_a: list[int] | None = None
    non_const_buffer_sizes_b: list[int] | None = None
    value_count_a: int | None = None
    value_count_b: int | None = None
    instruction_count_a: int | None = None
    instruction_count_b: int | None = None
    tensor_diffs: list[TensorDataDiff] = field(default_factory=list)
    evalue_diffs: list[EValueDiff] = field(default_factory=list)
    tensors_only_in_a: list[TensorInfo] = field(default_factory=list)
    tensors_only_in_b: list[TensorInfo] = field(default_factory=list)

    def has_differences(self) -> bool:
        """Returns whether the methods differ."""
        return any(getattr(self, item.name) not in (None, []) for item in fields(self)[1:])


@dataclass
class NamedDataDiff:
    """Named data that only one program has (`only_in` is "A" or "B"), or whose bytes differ."""

    key: str
    only_in: str
    bytes_differ: bool = False


@dataclass
class PTEDiffResult:
    """The differences between two programs.

    Attributes:
        version_a, version_b: the versions of the file format; None if they are equal.
        plan_diffs: the differences of the methods that differ.
        extra_plans_in_a, extra_plans_in_b: the names of the methods that only one program has.
        error: the reason why a program cannot be read, or None.
    """

    path_a: str
    path_b: str
    size_a: int
    size_b: int
    bitwise_equal: bool
    version_a: int | None = None
    version_b: int | None = None
    plan_diffs: list[ExecutionPlanDiff] = field(default_factory=list)
    extra_plans_in_a: list[str] = field(default_factory=list)
    extra_plans_in_b: list[str] = field(default_factory=list)
    named_data_diffs: list[NamedDataDiff] = field(default_factory=list)
    error: str | None = None


def diff_pte(
    data_a: bytes, data_b: bytes, path_a: str = "A", path_b: str = "B", max_samples: int = 10
) -> PTEDiffResult:
    """Compares two programs. Methods and values are compared by index.

    Args:
        data_a: the first .pte file.
        data_b: the second .pte file.
        path_a: the name of the first file in the result.
        path_b: the name of the second file in the result.
        max_samples: the largest number of differing elements to list for each tensor.

    Returns:
        The differences. If a file cannot be read, `error` is set.
    """
    result = PTEDiffResult(path_a, path_b, len(data_a), len(data_b), data_a == data_b)
    if result.bitwise_equal:
        return result
    try:
        a, b = read_pte(data_a), read_pte(data_b)
    except FormatError as error:
        result.error = f"Deserialization failed: {error}"
        return result
    if a.program.version != b.program.version:
        result.version_a, result.version_b = a.program.version, b.program.version
    plans_a, plans_b = a.program.execution_plan, b.program.execution_plan
    for index in range(min(len(plans_a), len(plans_b))):
        difference = _diff_methods(index, _Method(a, plans_a[index]), _Method(b, plans_b[index]), max_samples)
        if difference.has_differences():
            result.plan_diffs.append(difference)
    result.extra_plans_in_a = [plan.name for plan in plans_a[len(plans_b) :]]
    result.extra_plans_in_b = [plan.name for plan in plans_b[len(plans_a) :]]
    result.named_data_diffs = list(_diff_named(a, b))
    return result


class _Method:
    """A method, with caches of looked-up properties."""

    def __init__(self, file: PTEFile, plan: ExecutionPlan) -> None:
        self.file = file
        self.plan = plan
        self.instructions = [item.instr_args for chain in plan.chains for item in chain.instructions]
        self.operators = [_qualified(operator.name, operator.overload) for operator in plan.operators]
        self.delegates = [delegate.id for delegate in plan.delegates]
        self.usages: dict[int, list[OperatorUsage]] = {}
        for call in self.instructions:
            if isinstance(call, KernelCall):
                name = self.operators[call.op_index]
            elif isinstance(call, DelegateCall):
                name = self.delegates[call.delegate_index]
            else:
                continue
            for index, value in enumerate(call.args):
                self.usages.setdefault(value, []).append(OperatorUsage(name, index))

    def info(self, index: int) -> TensorInfo:
        """Returns the description of the tensor at an index."""
        tensor = self.plan.values[index].val
        assert isinstance(tensor, Tensor)
        extra = tensor.extra_tensor_info
        name = (extra.fully_qualified_name or None) if extra is not None else None
        usages = self.usages.get(index, [])
        return TensorInfo(index, tensor.scalar_type, list(tensor.sizes), name, tensor.data_buffer_idx, usages)

    def data(self, tensor: Tensor) -> bytes | None:
        """Returns the data of a tensor. A tensor in planned memory may have an initial value."""
        stored = self.file.constants if tensor.allocation_info is None else self.file.mutable_data
        index = tensor.data_buffer_idx
        return bytes(memoryview(stored[index])) if 0 < index < len(stored) else None


def _qualified(name: str, overload: str) -> str:
    return f"{name}.{overload}" if overload else name


def _diff_methods(index: int, a: _Method, b: _Method, max_samples: int) -> ExecutionPlanDiff:
    found = ExecutionPlanDiff(index)
    for name, value_a, value_b in (
        ("name", a.plan.name, b.plan.name),
        (
            "non_const_buffer_sizes",
            list(a.plan.non_const_buffer_sizes),
            list(b.plan.non_const_buffer_sizes),
        ),
        ("value_count", len(a.plan.values), len(b.plan.values)),
        ("instruction_count", len(a.instructions), len(b.instructions)),
    ):
        if value_a != value_b:
            setattr(found, f"{name}_a", value_a)
            setattr(found, f"{name}_b", value_b)
    found.operators_only_in_a = _only(a.operators, b.operators)
    found.operators_only_in_b = _only(b.operators, a.operators)
    found.delegates_only_in_a = _only(a.delegates, b.delegates)
    found.delegates_only_in_b = _only(b.delegates, a.delegates)
    common = min(len(a.plan.values), len(b.plan.values))
    for at in range(common):
        _diff_values(found, at, a, b, max_samples)
    found.tensors_only_in_a = _tensors_from(a, common)
    found.tensors_only_in_b = _tensors_from(b, common)
    return found


def _only(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Returns the names that occur more often in `names` than in `others`."""
    return sorted((Counter(names) - Counter(others)).elements())


def _tensors_from(method: _Method, start: int) -> list[TensorInfo]:
    values = method.plan.values
    return [method.info(at) for at in range(start, len(values)) if isinstance(values[at].val, Tensor)]


def _diff_values(found: ExecutionPlanDiff, at: int, a: _Method, b: _Method, max_samples: int) -> None:
    """Adds the difference of two values at the same index."""
    value_a, value_b = a.plan.values[at].val, b.plan.values[at].val
    type_a, type_b = type(value_a).__name__, type(value_b).__name__
    if isinstance(value_a, Tensor) and isinstance(value_b, Tensor):
        difference = _diff_tensors(at, a, b, max_samples)
        if difference is not None:
            found.tensor_diffs.append(difference)
        return
    changed = [] if type_a != type_b else list(_diff_fields(value_a, value_b))
    if type_a != type_b or changed:
        usages_a, usages_b = a.usages.get(at, []), b.usages.get(at, [])
        found.evalue_diffs.append(
            EValueDiff(at, type_a, type_b, type_a != type_b, changed, usages_a, usages_b)
        )


def _diff_fields(a: Any, b: Any, skipped: tuple[str, ...] = (), prefix: str = "") -> Iterator[FieldDiff]:
    for item in fields(a):
        value_a, value_b = getattr(a, item.name), getattr(b, item.name)
        if item.name not in skipped and value_a != value_b:
            yield FieldDiff(prefix + item.name, value_a, value_b)


def _diff_tensors(at: int, a: _Method, b: _Method, max_samples: int) -> TensorDataDiff | None:
    tensor_a, tensor_b = a.plan.values[at].val, b.plan.values[at].val
    assert isinstance(tensor_a, Tensor) and isinstance(tensor_b, Tensor)
    # The index of the data may differ, because the data itself is compared.
    changed = list(_diff_fields(tensor_a, tensor_b, ("data_buffer_idx", "extra_tensor_info")))
    changed += _diff_extra(tensor_a.extra_tensor_info, tensor_b.extra_tensor_info)
    data_a, data_b = a.data(tensor_a), b.data(tensor_b)
    if not changed and data_a == data_b:
        return None
    difference = TensorDataDiff(
        a.info(at), b.info(at), len(data_a or b""), len(data_b or b""), data_a != data_b, changed
    )
    if data_a is not None and data_b is not None and data_a != data_b:
        _diff_elements(difference, tensor_a, data_a, data_b, max_samples)
    return difference


def _diff_extra(a: ExtraTensorInfo | None, b: ExtraTensorInfo | None) -> Iterator[FieldDiff]:
    if a is None or b is None:
        if a is not b:
            yield FieldDiff("extra_tensor_info", a, b)
        return
    yield from _diff_fields(a, b, prefix="extra_tensor_info.")


def _diff_elements(
    difference: TensorDataDiff, tensor: Tensor, data_a: bytes, data_b: bytes, max_samples: int
) -> None:
    """Compares data by element. NaN equals NaN.

    Data is not compared if its sizes differ, or if NumPy does not have the dtype.
    """
    dtype = np.dtype(_NUMPY.get(tensor.scalar_type, "V1"))
    if dtype.kind == "V" or len(data_a) != len(data_b) or len(data_a) % dtype.itemsize:
        return
    a, b = (np.frombuffer(data, dtype).astype(np.float64) for data in (data_a, data_b))
    is_other = (a != b) & ~(np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        distance = np.where(is_other, np.abs(a - b), 0.0)
    places = np.flatnonzero(is_other)
    difference.num_elements, difference.num_differing = a.size, int(places.size)
    difference.max_abs_diff, difference.mean_abs_diff = float(distance.max()), float(distance.mean())
    shape = tuple(tensor.sizes) if int(np.prod(tensor.sizes)) == a.size else (a.size,)
    for place in map(int, places[:max_samples]):
        position = tuple(int(number) for number in np.unravel_index(place, shape))
        difference.element_diffs.append(ElementDiff(place, position, float(a[place]), float(b[place])))


def _diff_named(a: PTEFile, b: PTEFile) -> Iterator[NamedDataDiff]:
    for key in sorted(a.named_data.keys() | b.named_data.keys()):
        if key not in b.named_data:
            yield NamedDataDiff(key, "A")
        elif key not in a.named_data:
            yield NamedDataDiff(key, "B")
        elif memoryview(a.named_data[key].data) != memoryview(b.named_data[key].data):
            yield NamedDataDiff(key, "", bytes_differ=True)


def format_diff_result(result: PTEDiffResult, verbose: bool = False) -> str:
    """Returns differences as text.

    Args:
        result: the result of `diff_pte`.
        verbose: also list the sizes of data and the instructions that use a value.
    """
    sizes = f"A: {result.path_a} ({result.size_a} bytes)\nB: {result.path_b} ({result.size_b} bytes)"
    if result.bitwise_equal:
        return f"{sizes}\nThe files are bitwise equal."
    lines = [sizes, "The files are NOT bitwise equal."]
    if result.error is not None:
        return "\n".join([*lines, result.error])
    if result.version_a is not None:
        lines.append(f"Version: {result.version_a} vs {result.version_b}")
    for name, plans in (("A", result.extra_plans_in_a), ("B", result.extra_plans_in_b)):
        lines += [f"Method only in {name}: {plan}" for plan in plans]
    for difference in result.plan_diffs:
        lines += _method_lines(difference, verbose)
    for named in result.named_data_diffs:
        place = "differ" if named.bytes_differ else f"only in {named.only_in}"
        lines.append(f"Named data {named.key}: {place}")
    if len(lines) == 2:
        lines.append("The programs have the same methods, values and data; only the file layout differs.")
    return "\n".join(lines)


def _method_lines(found: ExecutionPlanDiff, verbose: bool) -> list[str]:
    lines = [f"Method {found.plan_index}:"]
    for name in ("name", "value_count", "instruction_count", "non_const_buffer_sizes"):
        a, b = getattr(found, f"{name}_a"), getattr(found, f"{name}_b")
        if a is not None or b is not None:
            lines.append(f"  {name}: {a} vs {b}")
    for kind in ("operators", "delegates"):
        for side in ("a", "b"):
            names: Mapping[str, int] = Counter(getattr(found, f"{kind}_only_in_{side}"))
            lines += [f"  {kind} only in {side.upper()}: {count} x {name}" for name, count in names.items()]
    for side in ("a", "b"):
        tensors = getattr(found, f"tensors_only_in_{side}")
        lines += [f"  tensor only in {side.upper()}: {_tensor_text(tensor)}" for tensor in tensors]
    if found.tensor_diffs:
        lines.append(f"  Differing tensors: {len(found.tensor_diffs)}")
        for tensor in found.tensor_diffs:
            lines += [f"    {line}" for line in _tensor_lines(tensor, verbose)]
    if found.evalue_diffs:
        lines.append(f"  Differing values: {len(found.evalue_diffs)}")
        for value in found.evalue_diffs:
            lines += [f"    {line}" for line in _value_lines(value, verbose)]
    return lines


def _tensor_text(tensor: TensorInfo) -> str:
    name = f" {tensor.fqn}" if tensor.fqn else ""
    shape = ", ".join(map(str, tensor.sizes))
    return f"value {tensor.evalue_index}{name}: {tensor.scalar_type.name.lower()}[{shape}]"


def _tensor_lines(found: TensorDataDiff, verbose: bool) -> Iterator[str]:
    yield _tensor_text(found.tensor_a)
    yield from _field_lines(found.metadata_diffs)
    if found.num_elements:
        yield (
            f"  {found.num_differing} of {found.num_elements} elements differ, "
            f"max_abs_diff {found.max_abs_diff:.6g}, mean_abs_diff {found.mean_abs_diff:.6g}"
        )
    elif found.bytes_differ:
        yield "  the data differs"
    for element in found.element_diffs:
        yield f"  {list(element.multi_index)}: {element.value_a:.6g} vs {element.value_b:.6g}"
    if verbose:
        yield f"  byte sizes: {found.byte_size_a} vs {found.byte_size_b}"
        yield from _usage_lines(found.tensor_a.operator_usages, found.tensor_b.operator_usages)


def _value_lines(found: EValueDiff, verbose: bool) -> Iterator[str]:
    types = f"{found.type_a} vs {found.type_b}" if found.type_mismatch else found.type_a
    yield f"value {found.evalue_index}: {types}"
    yield from _field_lines(found.field_diffs)
    if verbose:
        yield from _usage_lines(found.operator_usages_a, found.operator_usages_b)


def _field_lines(changed: Sequence[FieldDiff]) -> Iterator[str]:
    for item in changed:
        yield f"  {item.field_name}: {item.value_a} vs {item.value_b}"


def _usage_lines(a: Sequence[OperatorUsage], b: Sequence[OperatorUsage]) -> Iterator[str]:
    for side, usages in (("A", a), ("B", b)):
        if usages:
            texts = ", ".join(f"{usage.name} (argument {usage.arg_index})" for usage in usages)
            yield f"  used in {side} by {texts}"
