"""The command that generates kernel tables from YAML files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.select.yaml_cases import ADD

from rushlight.select.kernels_yaml import main
from rushlight.select.usage import read_usage


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    path = tmp_path / "functions.yaml"
    path.write_text(ADD)
    return path


def test_an_application_that_registers_kernels_itself(functions: Path, tmp_path: Path) -> None:
    arguments = ["bind", "--functions-yaml", str(functions), "--library", "my-ops", "--tables", "portable"]
    assert main([*arguments, "--out", str(tmp_path), "--manual-registration"]) == 0
    assert "Error register_all_kernels();" in (tmp_path / "RegisterKernels.h").read_text()
    source = (tmp_path / "register_kernels.cpp").read_text()
    assert "torch::executor::register_all_kernels() { return register_all(); }" in source
    assert "rushlight_registered" not in source


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
