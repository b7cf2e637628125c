"""C++ types and signatures of kernels, and the code that reads their arguments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from torchgen.local import parametrize  # type: ignore[import-untyped]
from torchgen.model import Argument, FunctionSchema, Location, NativeFunction, Return  # type: ignore[import-untyped]

from rushlight.compat.codegen.cpp_types import (
    ExecutorchCppSignature,
    Unboxing,
    argument_type,
    arguments,
    argumenttype_type,
    return_type,
    returns_type,
)

ADD = "foo::add.out(Tensor x, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)"


@pytest.fixture(autouse=True)
def references() -> Iterator[None]:
    """Kernels write to `Tensor &`, and get tensors as `TensorList`."""
    with parametrize(use_const_ref_for_mutable_tensors=False, use_ilistref_for_tensor_lists=False):
        yield


def function(schema: str) -> NativeFunction:
    return NativeFunction.from_yaml({"func": schema}, Location(__file__, 1), set())[0]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("Tensor x", "const torch::executor::Tensor &"),
        ("Tensor(a!) x", "torch::executor::Tensor &"),
        ("Tensor? x", "const ::std::optional<torch::executor::Tensor> &"),
        ("Tensor[] x", "torch::executor::TensorList"),
        ("Tensor(a!)[] x", "torch::executor::TensorList"),
        ("Tensor?[] x", "torch::executor::ArrayRef<::std::optional<torch::executor::Tensor>>"),
        ("Scalar x", "const torch::executor::Scalar &"),
        ("Scalar? x", "const ::std::optional<torch::executor::Scalar> &"),
        ("SymInt x", "int64_t"),
        ("int[2]? x", "::std::optional<torch::executor::ArrayRef<int64_t>>"),
        ("bool[3] x", "torch::executor::ArrayRef<bool>"),
        ("float? x", "::std::optional<double>"),
        ("str x", "std::string_view"),
        ("ScalarType? x", "::std::optional<torch::executor::ScalarType>"),
    ],
)
def test_types_of_parameters(argument: str, expected: str) -> None:
    assert argument_type(Argument.parse(argument), binds="x").cpp_type() == expected


def test_a_type_without_kernels_is_refused() -> None:
    with pytest.raises(ValueError, match="kernels do not support the type Generator"):
        argument_type(Argument.parse("Generator? x"), binds="x")


def test_return_types() -> None:
    assert return_type(Return.parse("Tensor(a!)")).cpp_type() == "torch::executor::Tensor &"
    assert return_type(Return.parse("Tensor[]")).cpp_type() == "::std::vector<torch::executor::Tensor>"
    several = FunctionSchema.parse("f(Tensor x) -> (Tensor, int)").returns
    assert returns_type(several).cpp_type() == "::std::tuple<torch::executor::Tensor,int64_t>"
    assert returns_type(()).cpp_type() == "void"


def test_signatures() -> None:
    signature = ExecutorchCppSignature.from_native_function(function(ADD), prefix="my_")
    head = "torch::executor::Tensor &"
    parameters = f"const {head} x, const torch::executor::Scalar & alpha, {head} out)"
    assert signature.decl(include_context=False) == f"{head} my_add_outf({parameters}"
    context = "torch::executor::KernelRuntimeContext & context, "
    assert signature.decl("kernel") == signature.defn("kernel") == f"{head} kernel({context}{parameters}"


def test_default_values_of_parameters() -> None:
    schema = FunctionSchema.parse("add(Tensor self, Scalar alpha=1) -> Tensor").arguments

    def defaults(**options: bool) -> list[str]:
        found = arguments(schema, method=False, cpp_no_default_args=set(), **options)
        return [binding.decl() for binding in found]

    assert defaults(faithful=True)[1] == "const torch::executor::Scalar & alpha"
    assert defaults(faithful=False)[1] == "const torch::executor::Scalar & alpha=1"
    as_method = arguments(schema, faithful=True, method=True, cpp_no_default_args=set())
    assert [binding.name for binding in as_method] == ["alpha"]


def test_code_that_reads_arguments() -> None:
    signature = ExecutorchCppSignature.from_native_function(
        function("foo::sum.out(Tensor[] x, int[]? dim, bool keep, *, Tensor(a!) out) -> Tensor(a!)")
    )
    bindings, code = Unboxing(argumenttype_type).convert_arguments(signature.arguments(include_context=False))
    assert [b.name for b in bindings] == ["x_list_out", "dim_opt_out", "keep_base", "out_base"]
    assert code == [
        "EValue& x = *stack[0];",
        "EValue& dim = *stack[1];",
        "EValue& keep = *stack[2];",
        "EValue& out = *stack[3];",
        "auto x_list_out = x.toTensorList();",
        "auto dim_opt_out = dim.toOptional<torch::executor::ArrayRef<int64_t>>();",
        "bool keep_base = keep.to<bool>();",
        "torch::executor::Tensor & out_base = out.to<torch::executor::Tensor>();",
    ]


def test_a_list_that_no_value_can_contain_is_refused() -> None:
    argument = Argument.parse("Scalar[] x")
    with pytest.raises(ValueError, match="x: kernels do not support the type Scalar"):
        Unboxing(argumenttype_type).argumenttype_evalue_convert(argument.type, "x")
