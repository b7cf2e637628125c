"""The kernels that YAML files list: keys and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.select.yaml_cases import ADD

from rushlight.select.kernel_index import read_kernels


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


def test_the_kernel_of_a_dispatch(tmp_path: Path) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(
        "- func: my::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch: {'CPU, CUDA': my::f}\n"
    )
    kernels = read_kernels(path, None).kernels["my::f.out"]
    assert [(kernel.function, kernel.key) for kernel in kernels] == [("my::native::f", None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\n", "is not a list of operators"),
        ("- [unclosed\n", "is not valid YAML"),
        ("- op: add.out\n", "aten::add.out has no list `kernels`"),
        ("- op: add.out\n  dispatch: {CUDA: f}\n", "no `dispatch` with a function for CPU"),
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
