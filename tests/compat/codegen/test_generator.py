"""The command `executorch.codegen.gen`: the files that it writes, and the options that it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from rushlight.compat.codegen.generator import REGISTRATION, main

FUNCTIONS = """
- op: add.out
  kernels: [{arg_meta: null, kernel_name: torch::executor::add_out}]
- op: mul.out
  kernels: [{arg_meta: null, kernel_name: mine::mul_out}]
"""
CUSTOM = """
- func: my::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
  kernels: [{arg_meta: null, kernel_name: mine::f_out}]
"""


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    (tmp_path / "functions.yaml").write_text(FUNCTIONS)
    (tmp_path / "custom.yaml").write_text(CUSTOM)
    functions, custom = tmp_path / "functions.yaml", tmp_path / "custom.yaml"
    return [
        "--source-path=absent",
        "--tags-path=absent",
        f"--functions_yaml_path={functions}",
        f"--custom-ops-yaml-path={custom}",
        f"--install_dir={tmp_path / 'out'}",
    ]


def generated(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "out").glob("*")}


def test_all_files(options: list[str], tmp_path: Path) -> None:
    main([*options, "--manual-registration", "-o", str(tmp_path / "generated.cmake")])
    texts = generated(tmp_path)
    names = ["NativeFunctions.h", "RegisterCPUCustomOps.cpp", REGISTRATION, "RegisterKernels.h"]
    assert sorted(texts) == names
    assert "mul_out(" in texts["NativeFunctions.h"] and "f_out(" in texts["NativeFunctions.h"]
    assert '"aten::add.out"' in texts[REGISTRATION] and "portable_kernels()" in texts[REGISTRATION]
    assert "register_all_kernels()" in texts["RegisterKernels.h"]
    assert 'm.def("f.out(Tensor x' in texts["RegisterCPUCustomOps.cpp"]
    listed = (tmp_path / "generated.cmake").read_text()
    assert listed.startswith("set(generated\n") and all(f"out/{name}" in listed for name in names)


def test_a_selection(options: list[str], tmp_path: Path) -> None:
    selected = tmp_path / "selected.yaml"
    selected.write_text("operators: {'aten::mul.out': {}, 'my::f.out': {}}\n")
    main([*options, "--op_selection_yaml_path", str(selected), "--op-registration-whitelist", "aten::mul"])
    texts = generated(tmp_path)
    assert "aten::mul.out" in texts[REGISTRATION] and "my::f" not in texts[REGISTRATION]
    assert "RegisterCPUCustomOps.cpp" not in texts


def test_parts(options: list[str], tmp_path: Path) -> None:
    main([*options, "--dry-run"])
    assert not generated(tmp_path)
    main([*options, "--generate", "headers"])
    assert list(generated(tmp_path)) == ["NativeFunctions.h"]


def test_signatures_of_a_file(options: list[str], tmp_path: Path) -> None:
    signatures = tmp_path / "native_functions.yaml"
    signatures.write_text(
        "- func: mul.out(Tensor left, *, Tensor(a!) out) -> Tensor(a!)\n- func: g(Dict x) -> ()\n"
    )
    main([*options, f"--aten_yaml_path={signatures}"])
    assert "const Tensor& left, Tensor& out" in generated(tmp_path)["NativeFunctions.h"]


@pytest.mark.parametrize("option", ["--use-aten-lib", "--add_exception_boundary", "--rocm"])
def test_options_without_effect_are_refused(
    option: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*options, option])
    assert f"{option.replace('_', '-')} is not available: " in capsys.readouterr().err


def test_no_operators(options: list[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    with pytest.raises(ValueError, match="have no operators"):
        main([*options, "--op-registration-whitelist", "my::absent"])
