"""The C++ types and signatures of kernels, and the C++ code that reads their arguments from EValues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torchgen import local  # type: ignore[import-untyped]
from torchgen.api import cpp  # type: ignore[import-untyped]
from torchgen.api.types import (  # type: ignore[import-untyped]
    BaseCppType,
    BaseCType,
    Binding,
    ConstRefCType,
    CType,
    Expr,
    MutRefCType,
    NamedCType,
    OptionalCType,
    TupleCType,
    VectorCType,
    boolT,
    doubleT,
    longT,
    voidT,
)
from torchgen.model import (  # type: ignore[import-untyped]
    Argument,
    Arguments,
    BaseTy,
    BaseType,
    FunctionSchema,
    ListType,
    NativeFunction,
    OptionalType,
    Return,
    Type,
)

_NAMESPACE = "torch::executor"
stringT = BaseCppType("std", "string_view")
scalarTypeT = BaseCppType(_NAMESPACE, "ScalarType")
tensorT = BaseCppType(_NAMESPACE, "Tensor")
tensorListT = BaseCppType(_NAMESPACE, "TensorList")
scalarT = BaseCppType(_NAMESPACE, "Scalar")
memoryFormatT = BaseCppType(_NAMESPACE, "MemoryFormat")
contextT = BaseCppType(_NAMESPACE, "KernelRuntimeContext")

contextExpr = Expr("context", NamedCType("context", MutRefCType(BaseCType(contextT))))
contextArg = Binding("context", contextExpr.type, argument=None)

BaseTypeToCppMapping = {
    BaseTy.int: longT,
    BaseTy.SymInt: longT,
    BaseTy.float: doubleT,
    BaseTy.bool: boolT,
    BaseTy.str: stringT,
    BaseTy.ScalarType: scalarTypeT,
    BaseTy.Tensor: tensorT,
    BaseTy.Scalar: scalarT,
    BaseTy.MemoryFormat: memoryFormatT,
}
_REFERENCES = (BaseType(BaseTy.Tensor), BaseType(BaseTy.Scalar))


@dataclass(frozen=True)
class ArrayRefCType(CType):  # type: ignore[misc]
    """The type `ArrayRef<elem>`."""

    elem: CType

    def cpp_type(self, *, strip_ref: bool = False) -> str:  # noqa: D102
        return f"{_NAMESPACE}::ArrayRef<{self.elem.cpp_type()}>"

    def remove_const_ref(self) -> CType:  # noqa: D102
        return ArrayRefCType(self.elem.remove_const_ref())


def argumenttype_type(
    t: Type, *, mutable: bool, binds: str, remove_non_owning_ref_types: bool = False
) -> NamedCType:
    """Returns the C++ type of a kernel's parameter. `remove_non_owning_ref_types` has no effect.

    Raises:
        ValueError: kernels do not support the type.
    """
    return NamedCType(binds, _parameter(t, mutable and not local.use_const_ref_for_mutable_tensors()))


def _parameter(t: Type, mutable: bool) -> CType:
    tensor = t.elem if isinstance(t, OptionalType) else t
    if mutable and tensor == BaseType(BaseTy.Tensor):
        return MutRefCType(BaseCType(tensorT))
    return ConstRefCType(_value(t)) if tensor in _REFERENCES else _value(t)


def _value(t: Type) -> CType:
    if isinstance(t, BaseType) and t.name in BaseTypeToCppMapping:
        return BaseCType(BaseTypeToCppMapping[t.name])
    if isinstance(t, OptionalType):
        return OptionalCType(_value(t.elem))
    if isinstance(t, ListType):
        if t.elem == BaseType(BaseTy.Tensor):
            return BaseCType(tensorListT)
        return ArrayRefCType(
            _value(t.elem) if isinstance(t.elem, OptionalType) else _parameter(t.elem, False)
        )
    raise ValueError(f"kernels do not support the type {t}")


def argument_type(a: Argument, *, binds: str) -> NamedCType:
    """Returns the C++ type of a parameter."""
    return argumenttype_type(a.type, mutable=a.is_write, binds=binds)


def returntype_type(t: Type, *, mutable: bool) -> CType:
    """Returns the C++ type of a result; a mutable result is a reference to an argument."""
    if isinstance(t, ListType):
        return VectorCType(returntype_type(t.elem, mutable=False))
    return _parameter(t, mutable=True) if mutable else _value(t)


def return_type(r: Return) -> CType:
    """Returns the C++ type of a result."""
    return returntype_type(r.type, mutable=r.is_write)


def returns_type(rs: Sequence[Return]) -> CType:
    """Returns the return type of a kernel with these results."""
    types = [return_type(r) for r in rs] or [BaseCType(voidT)]
    return types[0] if len(types) == 1 else TupleCType(types)


def arguments(
    arguments: Arguments, *, faithful: bool, method: bool, cpp_no_default_args: set[str]
) -> list[Binding]:
    """Returns the parameters of a C++ function.

    Args:
        arguments: the arguments in the schema.
        faithful: whether out arguments come last, and no argument has a default value.
        method: whether the function is a method of `self`.
        cpp_no_default_args: the arguments without a default value in C++.
    """
    inputs = [a for a in arguments.flat_non_out if not (method and a.name == "self")]
    outs = list(arguments.out)
    return [
        Binding(
            name=a.name,
            nctype=argument_type(a, binds=a.name),
            argument=a,
            default=None
            if faithful or a.default is None or a.name in cpp_no_default_args
            else cpp.default_expr(a.default, a.type, symint=False),
        )
        for a in (inputs + outs if faithful else outs + inputs)
    ]


@dataclass(frozen=True)
class ExecutorchCppSignature:
    """The signature of a kernel.

    Attributes:
        func: the schema.
        cpp_no_default_args: the arguments that have no default value in C++.
        prefix: the first part of the function's name.
    """

    func: FunctionSchema
    cpp_no_default_args: set[str]
    prefix: str = ""

    @staticmethod
    def from_native_function(f: NativeFunction, *, prefix: str = "") -> ExecutorchCppSignature:
        """Returns the signature of an operator's kernel."""
        return ExecutorchCppSignature(f.func, f.cpp_no_default_args, prefix)

    def arguments(self, *, include_context: bool = True) -> list[Binding]:
        """Returns the parameters, with the runtime context as the first one."""
        found = arguments(
            self.func.arguments,
            faithful=True,
            method=False,
            cpp_no_default_args=self.cpp_no_default_args,
        )
        return [contextArg, *found] if include_context else found

    def name(self) -> str:
        """Returns the name of the function."""
        return f"{self.prefix}{cpp.name(self.func, faithful_name_for_out_overloads=True)}"

    def decl(self, name: str | None = None, *, include_context: bool = True) -> str:
        """Returns the declaration without the semicolon."""
        listed = ", ".join(a.decl() for a in self.arguments(include_context=include_context))
        return f"{self.returns_type().cpp_type()} {name or self.name()}({listed})"

    def defn(self, name: str | None = None) -> str:
        """Returns the head of the definition."""
        return self.decl(name)

    def returns_type(self) -> CType:
        """Returns the return type."""
        return returns_type(self.func.returns)


_LISTS = {
    "Tensor": "toTensorList",
    "Tensor?": "toListOptionalTensor",
    "int": "toIntList",
    "SymInt": "toIntList",
    "float": "toDoubleList",
    "bool": "toBoolList",
}


@dataclass(frozen=True)
class Unboxing:
    """Generates the C++ code that reads the arguments of an operator call from EValues.

    Attributes:
        argument_type_gen: a function such as `argumenttype_type`, which returns the C++ type of an argument.
    """

    argument_type_gen: Callable[..., NamedCType]

    def convert_arguments(self, args: Sequence[Binding]) -> tuple[list[Binding], list[str]]:
        """Returns the converted arguments, and the code that reads them from the variable `stack`."""
        bindings = []
        code = [f"EValue& {arg.name} = *stack[{index}];" for index, arg in enumerate(args)]
        for arg in args:
            a = arg.argument
            name, _, lines, before = self.argumenttype_evalue_convert(a.type, a.name, mutable=a.is_write)
            bindings.append(arg.with_name(name))
            code += before + lines
        return bindings, code

    def argumenttype_evalue_convert(
        self, t: Type, arg_name: str, *, mutable: bool = False
    ) -> tuple[str, CType, list[str], list[str]]:
        """Converts one argument.

        Args:
            t: the type in the schema.
            arg_name: the name of the variable with the EValue.
            mutable: whether the kernel writes the argument.

        Returns:
            The name of the new variable, its type, the code that defines it, and the code before that.

        Raises:
            ValueError: an EValue cannot contain the type.
        """
        ctype = self.argument_type_gen(t, mutable=mutable, binds=arg_name).type
        if isinstance(t, BaseType):
            name, call = f"{arg_name}_base", f"to<{ctype.cpp_type(strip_ref=True)}>"
            return name, ctype, [f"{ctype.cpp_type()} {name} = {arg_name}.{call}();"], []
        if isinstance(t, OptionalType):
            elem = self.argument_type_gen(t.elem, mutable=False, binds=arg_name).cpp_type(strip_ref=True)
            name, call = f"{arg_name}_opt_out", f"toOptional<{elem}>"
        elif str(t.elem) in _LISTS:
            name, call = f"{arg_name}_list_out", _LISTS[str(t.elem)]
        else:
            raise ValueError(f"{arg_name}: kernels do not support the type {t}")
        return name, ctype, [f"auto {name} = {arg_name}.{call}();"], []
