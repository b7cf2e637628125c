"""Kernel: builds the C function of one kernel call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rushlight.aot_c.code import Code
from rushlight.aot_c.dtypes import (
    BFLOAT16,
    BOOL,
    C_TYPES,
    DOUBLE,
    ELEMENTS,
    FLOAT,
    FLOATING,
    HALF,
    LONG,
    PARTS,
    SIXTEEN,
    c_compute,
    name_of,
    size_of,
)
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.values import Argument, Number, Region, TensorValue, number_in
from rushlight.format.program import ScalarType

SCRATCH = "scratch_memory"
"""The name of the memory that kernel functions use for intermediate results."""


@dataclass
class Parameter:
    """A parameter of the function: a pointer to elements, or a number.

    Attributes:
        name: the name of the parameter.
        type: the type of the elements or of the number.
        argument: the expression that the method passes.
        tensor: the tensor of a pointer; None for a number.
        writes: whether the function writes the tensor.
    """

    name: str
    type: str
    argument: str
    tensor: TensorValue | None = None
    writes: bool = False


class Kernel:
    """The C function of a kernel call: its arguments, parameters and body.

    A generator reads arguments by position, declares the tensors that the function reads and writes, and adds
    lines to `code`.

    Attributes:
        operator: the full name, such as `aten::add.out`.
        arguments: the arguments of the call.
        code: the body of the function.
        needs: the names of the helpers that the function calls.
        headers: the headers of the C library that the function needs.
        can_fail: whether the function returns an error code.
        in_place: whether a result may overwrite an argument element by element.
        scratch_needed: the dtype and number of elements of the scratch memory that the function needs.
    """

    def __init__(
        self, operator: str, arguments: Sequence[Argument], is_used: Callable[[TensorValue], bool]
    ) -> None:
        self.operator = operator
        self.arguments = list(arguments)
        self.code = Code()
        self.needs: set[str] = set()
        self.headers: set[str] = set()
        self.can_fail = False
        self.in_place = False
        self.scratch_needed: tuple[ScalarType, int] | None = None
        self.parameters: list[Parameter] = []
        self._is_used = is_used

    def _argument(self, position: int) -> Argument:
        if position >= len(self.arguments):
            raise Unsupported(f"the call has {len(self.arguments)} arguments; argument {position} is missing")
        return self.arguments[position]

    def optional_tensor(self, position: int) -> TensorValue | None:
        """Returns an argument that is a tensor or None."""
        value = self._argument(position)
        if value is None or isinstance(value, TensorValue):
            return value
        raise Unsupported(f"argument {position} is not a tensor")

    def tensor(self, position: int) -> TensorValue:
        """Returns an argument that is a tensor."""
        value = self.optional_tensor(position)
        if value is None:
            raise Unsupported(f"argument {position} is None, not a tensor")
        return value

    def optional_tensors(self, position: int) -> list[TensorValue | None]:
        """Returns an argument that is a list of tensors and None."""
        value = self._argument(position)
        if not isinstance(value, list):
            raise Unsupported(f"argument {position} is not a list of tensors")
        if not all(item is None or isinstance(item, TensorValue) for item in value):
            raise Unsupported(f"argument {position} is not a list of tensors")
        return list(value)

    def tensors(self, position: int) -> list[TensorValue]:
        """Returns an argument that is a list of tensors."""
        values = self.optional_tensors(position)
        tensors = [value for value in values if isinstance(value, TensorValue)]
        if len(tensors) != len(values):
            raise Unsupported(f"argument {position} is not a list of tensors")
        return tensors

    def optional_number(self, position: int) -> Number | None:
        """Returns an argument that is a number or None."""
        value = self._argument(position)
        if value is None or isinstance(value, Number):
            return value
        raise Unsupported(f"argument {position} is not a number")

    def number(self, position: int) -> Number:
        """Returns an argument that is a number, constant or computed at run time."""
        value = self.optional_number(position)
        if value is None:
            raise Unsupported(f"argument {position} is None, not a number")
        return value

    def optional_int(self, position: int) -> int | None:
        """Returns an argument that is a constant integer or None."""
        value = self.optional_number(position)
        return None if value is None else value.to_int(f"argument {position}")

    def integer(self, position: int) -> int:
        """Returns an argument that is a constant integer."""
        return self.number(position).to_int(f"argument {position}")

    def optional_float(self, position: int) -> float | None:
        """Returns an argument that is a constant float64 number or None."""
        value = self.optional_number(position)
        return None if value is None else float(value.constant(f"argument {position}"))

    def real(self, position: int) -> float:
        """Returns an argument that is a constant float64 number."""
        return float(self.number(position).constant(f"argument {position}"))

    def flag(self, position: int) -> bool:
        """Returns an argument that is a constant bool."""
        return bool(self.number(position).constant(f"argument {position}"))

    def optional_ints(self, position: int) -> list[int] | None:
        """Returns an argument that is a list of constant integers or None."""
        value = self._argument(position)
        if value is None:
            return None
        if not isinstance(value, list):
            raise Unsupported(f"argument {position} is not a list of integers")
        if not all(isinstance(item, Number) for item in value):
            raise Unsupported(f"argument {position} is not a list of integers")
        return [item.to_int(f"an item of argument {position}") for item in value]

    def ints(self, position: int) -> list[int]:
        """Returns an argument that is a list of constant integers."""
        value = self.optional_ints(position)
        if value is None:
            raise Unsupported(f"argument {position} is None, not a list of integers")
        return value

    def optional_floats(self, position: int) -> list[float] | None:
        """Returns an argument that is a list of constant float64 numbers or None."""
        value = self._argument(position)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, float) for item in value):
            raise Unsupported(f"argument {position} is not a list of float64 numbers")
        return value

    def optional_text(self, position: int) -> str | None:
        """Returns an argument that is a string or None."""
        value = self._argument(position)
        if value is None or isinstance(value, str):
            return value
        raise Unsupported(f"argument {position} is not a string")

    def optional_dtype(self, position: int) -> ScalarType | None:
        """Returns an argument that is a dtype or None."""
        number = self.optional_int(position)
        if number is None:
            return None
        if number not in ScalarType.__members__.values():
            raise Unsupported(f"argument {position} is {number}, which is not a dtype")
        return ScalarType(number)

    def read(self, tensor: TensorValue, name: str) -> str:
        """Declares that the function reads a tensor. Returns the name of the pointer."""
        return self._pointer(tensor, name, False)

    def write(self, tensor: TensorValue, name: str = "out") -> str:
        """Declares that the function writes a tensor. Returns the name of the pointer."""
        if tensor.is_constant:
            raise Unsupported("the call writes to a constant tensor")
        return self._pointer(tensor, name, True)

    def is_used(self, tensor: TensorValue) -> bool:
        """Returns whether a result of the call has a reader."""
        return self._is_used(tensor)

    def _pointer(self, tensor: TensorValue, name: str, writes: bool) -> str:
        if tensor.dtype not in ELEMENTS:
            raise Unsupported(f"tensors of {name_of(tensor.dtype)} are not supported")
        element, pointer = ELEMENTS[tensor.dtype], tensor.pointer
        if tensor.dtype in PARTS:
            # Arrays of constants, inputs and outputs have a real and an imaginary part for each element.
            pointer = f"({'' if writes else 'const '}{element} *){pointer}"
        self.parameters.append(Parameter(name, element, pointer, tensor, writes))
        return name

    def value(self, c_type: str, name: str, argument: str) -> str:
        """Declares a parameter that is a number. Returns its name.

        Calls that differ only in such numbers share one C function.
        """
        self.parameters.append(Parameter(name, c_type, argument))
        return name

    def scratch(self, name: str, dtype: ScalarType, count: int) -> str:
        """Declares a parameter that points to scratch memory for `count` elements. Returns its name.

        All functions of a program use the same scratch memory, one after another. A function has at most one
        such parameter.
        """
        self.scratch_needed = (dtype, count)
        element = ELEMENTS[dtype]
        self.parameters.append(Parameter(name, f"{element} *", f"({element} *){SCRATCH}.bytes"))
        return name

    def table(self, c_type: str, name: str, items: Sequence[str]) -> None:
        """Writes the definition of a constant array."""
        self.code.add(f"static const {c_type} {name}[] = {{")
        for i in range(0, len(items), 12):
            self.code.add(f"  {', '.join(items[i : i + 12])},")
        self.code.add("};")

    def number_value(self, number: Number, name: str) -> Number:
        """Returns a constant unchanged; declares a parameter for a number that is computed at run time."""
        if number.value is None:
            self.value(number.c_type, name, number.name)
        return number.named(name)

    def require(self, condition: bool, reason: str) -> None:
        """Raises Unsupported if the condition does not hold. The portable kernel rejects the same calls."""
        if not condition:
            raise Unsupported(reason)

    def require_rank(self, rank: int, *tensors: TensorValue) -> None:
        """Raises Unsupported if a tensor does not have this number of dimensions."""
        for tensor in tensors:
            self.require(tensor.rank == rank, f"{tensor.describe()} does not have {rank} dimensions")

    def require_shape(self, tensor: TensorValue, shape: Sequence[int]) -> None:
        """Raises Unsupported if a result does not have the shape that the kernel computes."""
        if list(tensor.sizes) != list(shape):
            raise Unsupported(f"the result has the shape {list(tensor.sizes)}, not {list(shape)}")

    def fail_if(self, condition: str) -> None:
        """Adds a check: the function returns 1 if the C expression `condition` is true at run time."""
        self.can_fail = True
        self.code.add(f"if ({condition}) return 1;")

    def call(self, helper: str, *arguments: str) -> str:
        """Writes a call of a helper."""
        self.needs.add(helper)
        return f"{helper}({', '.join(arguments)})"

    def math(self, function: str, compute: ScalarType, *arguments: str) -> str:
        """Writes a call of a function of math.h for float or double."""
        self.headers.add("math.h")
        return f"{function}{'f' if compute == FLOAT else ''}({', '.join(arguments)})"

    def number_in(self, number: Number, dtype: ScalarType) -> str:
        """Converts a number to a dtype, and then to the compute type of the dtype."""
        text, helpers = number_in(number, dtype)
        self.needs |= set(helpers)
        if "NAN" in text or "INFINITY" in text:
            self.headers.add("math.h")
        return text

    def constant(self, number: Number | int | float, compute: ScalarType) -> str:
        """Converts a number to a compute type by the conversion rules of C."""
        if not isinstance(number, Number):
            number = Number("double" if isinstance(number, float) else "int", number)
        text = number.to(compute)
        if "NAN" in text or "INFINITY" in text:
            self.headers.add("math.h")
        return text

    def load(self, element: str, dtype: ScalarType, compute: ScalarType) -> str:
        """Converts an element of a dtype to a compute type or to a complex dtype."""
        if dtype in PARTS and compute not in PARTS:
            raise Unsupported(f"arithmetic on {name_of(dtype)} is not supported")
        if compute in PARTS and dtype not in PARTS:
            return self.load(element, dtype, PARTS[compute])
        if dtype in SIXTEEN:
            helper = "half_to_float" if dtype == HALF else "bfloat16_to_float"
            wide = self.call(helper, element)
            return wide if compute == FLOAT else f"({c_compute(compute)}){wide}"
        if ScalarType(compute) == dtype:
            return element
        return f"({c_compute(compute)}){element}"

    def real_part(self, number: str, dtype: ScalarType) -> str:
        """Writes the real part of a number of a complex dtype."""
        self.headers.add("complex.h")
        return f"creal{'f' if PARTS[dtype] == FLOAT else ''}({number})"

    def imaginary_part(self, number: str, dtype: ScalarType) -> str:
        """Writes the imaginary part of a number of a complex dtype."""
        self.headers.add("complex.h")
        return f"cimag{'f' if PARTS[dtype] == FLOAT else ''}({number})"

    def complex_number(self, real: str, imaginary: str, dtype: ScalarType) -> str:
        """Writes a number of a complex dtype from its parts."""
        return self.call(f"complex_{c_compute(PARTS[dtype])}", real, imaginary)

    def store(self, value: str, compute: ScalarType, dtype: ScalarType) -> str:
        """Converts a number of a compute type or complex dtype, or a bool, to an element of a dtype.

        `value` is a name or an expression in brackets.
        """
        if dtype in SIXTEEN:
            wide = value if compute == FLOAT else f"(float){value}"
            return self.call("float_to_half" if dtype == HALF else "float_to_bfloat16", wide)
        if dtype == BOOL:
            return value if compute == BOOL else f"({value} != 0)"
        if dtype == compute:
            return value
        c_type = C_TYPES[dtype]
        if compute in FLOATING and dtype not in FLOATING:
            if c_type.startswith("u"):
                return f"({c_type})(int64_t){value}"
            if size_of(dtype) < 4:
                return f"({c_type})(int32_t){value}"
        return f"({c_type}){value}"

    def narrow(self, value: str, common: ScalarType) -> str:
        """Rounds or wraps a number to a value of dtype `common`. Its type is the compute type of `common`."""
        if common == HALF:
            return self.call("half_to_float", self.call("float_to_half", value))
        if common == BFLOAT16:
            return self.call("bfloat16_to_float", self.call("float_to_bfloat16", value))
        if common in (ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT):
            return f"(int64_t)({C_TYPES[common]}){value}"
        return value

    def convert(self, element: str, source: ScalarType, target: ScalarType) -> str:
        """Converts an element to another dtype, as the portable copy kernels do."""
        if source == target:
            return element
        if target in PARTS:
            value = self.load(element, source, target)
            return value if source not in PARTS else f"({C_TYPES[target]}){value}"
        if source in PARTS and target == BOOL:
            return f"({element} != 0)"
        if source in PARTS:
            part = self.real_part(element, source)
            return self.store(part, PARTS[source], target)
        compute = LONG if source not in FLOATING else DOUBLE if source == DOUBLE else FLOAT
        loaded = self.load(element, source, compute)
        return self.store(loaded if loaded == element else f"({loaded})", compute, target)

    def check_overlaps(self) -> bool:
        """Checks whether results overlap other tensors of the call.

        Returns:
            Whether no result overlaps another tensor, so that pointers may be `restrict`.

        Raises:
            Unsupported: a result overlaps an argument, and the function cannot work in place.
        """
        no_alias = True
        for result in self.parameters:
            if result.tensor is None or not result.writes:
                continue
            for other in self.parameters:
                if other is result or other.tensor is None:
                    continue
                mine, yours = result.tensor, other.tensor
                if mine.region is None or yours.region is None or not mine.numel * yours.numel:
                    no_alias = False  # An empty tensor may have the address of another one.
                elif mine.region.overlaps(yours.region):
                    no_alias = False
                    if not (self.in_place and _same_elements(mine, yours)):
                        raise Unsupported(
                            f"the result {mine.describe()} overlaps the argument {yours.describe()} in memory"
                        )
        return no_alias


def _same_elements(a: TensorValue, b: TensorValue) -> bool:
    assert isinstance(a.region, Region) and isinstance(b.region, Region)
    return (
        a.region.start == b.region.start
        and a.item_size == b.item_size
        and (a.numel == b.numel == 1 or (a.sizes == b.sizes and a.strides == b.strides))
    )


Generator = Callable[[Kernel], None]
"""Writes the function of a call."""
