"""Kernel tables from YAML files: reading, writing and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from rushlight.select.kernels_yaml import (
    declarations,
    main,
    parse_schema,
    read_kernels,
    registration,
    torch_library,
)
from rushlight.select.usage import read_usage

ADD = """
- op: add.out
  type_alias:
    T0: [Float, Double]
    T1: [Int]
  dim_order_alias:
    D0: [0, 1, 2, 3]
    D1: [0, 2, 3, 1]
  kernels:
    - arg_meta: null
      kernel_name: torch::executor::add_out
    - arg_meta:
        self: [T0, D0]
        other: [T0, D0]
        out: [T0, D0]
      kernel_name: mine::add_contiguous
    - arg_meta:
        self: [T1, D1]
        other: [T0, D0]
        out: [T0, D1]
      kernel_name: mine::add_mixed
"""


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    path = tmp_path / "functions.yaml"
    path.write_text(ADD)
    return path


def test_keys_of_aliases(functions: Path) -> None:
    kernels = read_kernels(functions, None).kernels["aten::add.out"]
    assert [(kernel.function, kernel.key) for kernel in kernels] == [
        (None, None),
        ("mine::native::add_contiguous", "v1/6;0,1,2,3|6;0,1,2,3|6;0,1,2,3"),
        ("mine::native::add_contiguous", "v1/7;0,1,2,3|7;0,1,2,3|7;0,1,2,3"),
        ("mine::native::add_mixed", "v1/3;0,2,3,1|6;0,1,2,3|6;0,2,3,1"),
        ("mine::native::add_mixed", "v1/3;0,2,3,1|7;0,1,2,3|7;0,2,3,1"),
    ]


@pytest.mark.parametrize(
    ("schema", "types", "returned"),
    [
        ("f(Tensor x) -> Tensor", ["const Tensor&"], "void"),
        (
            "a::f.out(Tensor? x, int[2] d=[0, 1], *, Tensor(a!) out) -> Tensor(a!)",
            ["const optional<Tensor>&", "ArrayRef<int64_t>", "Tensor&"],
            "Tensor&",
        ),
        (
            "a::f.out(Tensor[] x, Tensor?[] y, Scalar? s, SymInt[]? z=None, *, Tensor(a!) p, Tensor(b!) q)"
            " -> (Tensor(a!), Tensor(b!))",
            [
                "TensorList",
                "ArrayRef<optional<Tensor>>",
                "const optional<Scalar>&",
                "optional<ArrayRef<int64_t>>",
                "Tensor&",
                "Tensor&",
            ],
            "std::tuple<Tensor&, Tensor&>",
        ),
        (
            'a::f(float x=1.0, bool y=False, str mode="mean", ScalarType? dtype=None, float[] w=[]) -> ()',
            ["double", "bool", "string_view", "optional<ScalarType>", "ArrayRef<double>"],
            "void",
        ),
    ],
)
def test_types_of_parameters(schema: str, types: list[str], returned: str) -> None:
    parsed = parse_schema(schema)
    assert [argument.cpp_type for argument in parsed.arguments] == types
    assert parsed.cpp_return == returned


def test_a_signature_of_pytorch_is_looked_up(functions: Path) -> None:
    index = read_kernels(functions, None)
    text = declarations(index, ["aten::add.out"])
    assert "Tensor& add_contiguous(" in text and "namespace mine::native {" in text
    assert "const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out);" in text
    assert text.count("add_contiguous") == 1


def test_own_kernels_and_those_of_the_runtime(functions: Path) -> None:
    index = read_kernels(functions, None)
    text = registration(index, ["aten::add.out", "aten::mul.out"], ["optimized", "portable"], "my-ops")
    assert '"aten::add.out", EXECUTORCH_FN(mine::native::add_contiguous), "v1/6;0,1,2,3|' in text
    assert 'names[] = {\n    "aten::add.out",\n    "aten::mul.out",\n};' in text
    assert "tables[] = {::rushlight::optimized_kernels(), ::rushlight::portable_kernels()}" in text
    assert 'extern "C" const bool rushlight_registered_my_ops' in text
    with pytest.raises(ValueError, match=r"aten::add.out .* add portable_kernels"):
        registration(index, ["aten::add.out"], [], "my-ops")


def test_an_application_that_registers_kernels_itself(functions: Path, tmp_path: Path) -> None:
    arguments = ["bind", "--functions-yaml", str(functions), "--library", "my-ops", "--tables", "portable"]
    assert main([*arguments, "--out", str(tmp_path), "--manual-registration"]) == 0
    assert "Error register_all_kernels();" in (tmp_path / "RegisterKernels.h").read_text()
    source = (tmp_path / "register_kernels.cpp").read_text()
    assert "torch::executor::register_all_kernels() { return register_all(); }" in source
    assert "rushlight_registered" not in source


def test_functions_of_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "custom.yaml"
    path.write_text(
        "- func: my::mix.out(Tensor x, Tensor? y, *, int n=2, Tensor(a!) out) -> Tensor(a!)\n"
        "  kernels:\n    - arg_meta: null\n      kernel_name: my::mix_out\n"
    )
    text = torch_library(read_kernels(None, path), ["my::mix.out"])
    assert 'm.def("mix.out(Tensor x, Tensor? y, *, int n=2, Tensor(a!) out) -> Tensor(a!)",' in text
    assert 'm.def("mix(Tensor x, Tensor? y, *, int n=2) -> Tensor",' in text
    assert "WRAP_TO_ATEN(my::native::mix_out, 3)" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\n", "is not a list of operators"),
        ("- [unclosed\n", "is not valid YAML"),
        ("- op: add.out\n", "aten::add.out has no list `kernels`"),
        ("- kernels: []\n", "needs either `op: <name>` or `func: <signature>`"),
        ("- op: add.out\n  colour: red\n", "unknown key 'colour'"),
        ("- op: add.out\n  kernels:\n    - kernel_name: 'a b'\n", "'a b', and not the name of a C"),
        (
            "- op: add.out\n  kernels:\n    - {arg_meta: {self: [T0, D0]}, kernel_name: f}\n",
            "T0 is not in `type_alias`",
        ),
        (
            "- op: add.out\n  type_alias: {T0: [Float]}\n"
            "  kernels:\n    - {arg_meta: {self: [T0, D0]}, kernel_name: f}\n",
            "D0 is not in `dim_order_alias`",
        ),
        (
            "- op: add.out\n  type_alias: {T0: [Floaty]}\n  dim_order_alias: {D0: [0]}\n"
            "  kernels:\n    - {arg_meta: {self: [T0, D0]}, kernel_name: f}\n",
            "Floaty is not a dtype",
        ),
        ("- op: a\n  kernels: [{kernel_name: f}, {kernel_name: g}]\n", "two kernels for all dtypes"),
        ("- func: nonsense\n  kernels: [{kernel_name: f}]\n", "is not a signature"),
        ("- func: 'a::f(Dict x) -> ()'\n  kernels: [{kernel_name: f}]\n", "do not support the type"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match="functions.yaml") as caught:
        read_kernels(path, None)
    assert message in str(caught.value)


def test_selection_feeds_rushlight_select(tmp_path: Path, functions: Path) -> None:
    out = tmp_path / "ops" / "selected_operators.yaml"
    assert main(["select", "--root-ops", "aten::mul.out,add.out", "--out", str(out)]) == 0
    assert sorted(read_usage(out).operators) == ["aten::add.out", "aten::mul.out"]
    assert main(["select", "--include-all-ops", "--out", str(out)]) == 0
    assert read_usage(out).every_operator


def test_the_command_reports_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.yaml")
    assert main(["bind", "--functions-yaml", missing, "--library", "x", "--out", str(tmp_path)]) == 1
    assert "none.yaml" in capsys.readouterr().err
    assert main(["bind", "--library", "x", "--out", str(tmp_path)]) == 1
    assert "library x has no operators" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    - arg_meta: null\n      kernel_name: torch::executor::add_out",
            "    - mine::f",
            "not a mapping",
        ),
        ("    D0: [0, 1, 2, 3]", "    D0: [{a: 0}, 1, 2, 3]", "the dim order D0 is"),
        ("    D0: [0, 1, 2, 3]", "    D0: 5", "`dim_order_alias` is not a mapping from aliases to lists"),
        ("    T1: [Int]", "    T1: Int", "`type_alias` is not a mapping from aliases to lists"),
        ("- op: add.out", "- op: add.out\n  3: x\n  y: x", "unknown key '3'"),
    ],
)
def test_values_of_other_types_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(ADD.replace(old, new))
    with pytest.raises(ValueError, match=f"functions.yaml: .*{message}"):
        read_kernels(path, None)


def test_operators_that_pytorch_cannot_call_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "- func: my::{}(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n  kernels:\n    - arg_meta: {}\n"
    one = text.format("one.out", "null") + "      kernel_name: mine::one\n"
    two = text.format("two.out", "{x: [T0, D0], out: [T0, D0]}") + "      kernel_name: mine::two\n"
    path = tmp_path / "custom.yaml"
    aliases = "  type_alias: {T0: [Float]}\n  dim_order_alias: {D0: [0, 1]}\n"
    path.write_text(one + two.replace("  kernels:", aliases + "  kernels:"))
    out = tmp_path / "out"
    assert main(["torch", "--custom-ops-yaml", str(path), "--library", "x", "--out", str(out)]) == 0
    assert "left out, without a kernel for all dtypes: my::two.out" in capsys.readouterr().err
    source = (out / "register_torch.cpp").read_text()
    assert "mine::native::one" in source and "two" not in source
