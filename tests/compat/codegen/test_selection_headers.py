"""Headers of selected operators: dtypes of kernels, macros of operators, and the number of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from rushlight.compat.codegen.selection_headers import (
    combine_prim_ops_headers,
    combine_prim_ops_headers_main,
    count_prim_ops,
    gen_max_kernel_num,
    gen_max_kernel_num_main,
    normalize_op_name,
    write_selected_op_variants_main,
    write_selected_prim_ops,
    write_selected_prim_ops_main,
)

SOURCE = """
void helper() { Kernel(1); }
static Kernel prim_ops[] = {
    Kernel("a::b", f),
    Kernel(
        "a::c", g),
};
"""


def selected(path: Path, content: dict[str, object]) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "prim_ops.cpp"
    path.write_text(SOURCE)
    return path


def test_dtypes_of_kernels(tmp_path: Path) -> None:
    keys = {"aten::add.out": ["v1/6;0,1|3;0", "v1/15;0"], "my::op.out": ["default", "v1/6;0"]}
    path = selected(tmp_path / "list.yaml", {"et_kernel_metadata": keys})
    write_selected_op_variants_main([f"--yaml-file-path={path}", f"--output_dir={tmp_path}"])
    text = (tmp_path / "selected_op_variants.h").read_text()
    name = "executorch::aten::ScalarType"
    assert (
        f"(scalar_type == {name}::BFloat16 || scalar_type == {name}::Float || scalar_type == {name}::Int)"
        in text
    )
    assert '(name == "add.out" && (' in text
    assert '(name == "my::op.out" && (true))' in text
    assert text.startswith("#pragma once\n")


def test_every_dtype_without_keys(tmp_path: Path) -> None:
    path = selected(tmp_path / "list.yaml", {"include_all_operators": True})
    write_selected_op_variants_main([f"--yaml_file_path={path}", f"--output_dir={tmp_path}"])
    assert "  return true;\n" in (tmp_path / "selected_op_variants.h").read_text()


def test_macros_of_operators(tmp_path: Path) -> None:
    assert normalize_op_name("executorch_prim::et_view.default") == "INCLUDE_EXECUTORCH_PRIM_ET_VIEW_DEFAULT"
    assert normalize_op_name("aten::_local_scalar_dense") == "INCLUDE_ATEN_LOCAL_SCALAR_DENSE"
    path = selected(tmp_path / "list.yaml", {"operators": {"aten::sym_size.int": {}}})
    arguments = [f"--op-selection-yaml-path={path}", f"--output_dir={tmp_path}", "--prim_op_names=a::b, a::a"]
    write_selected_prim_ops_main(arguments)
    text = (tmp_path / "selected_prim_ops.h").read_text()
    assert (
        text
        == "#pragma once\n\n#define INCLUDE_A_A\n#define INCLUDE_A_B\n#define INCLUDE_ATEN_SYM_SIZE_INT\n"
    )


def test_number_of_kernels(tmp_path: Path, source: Path) -> None:
    keys = {"aten::add.out": ["v1/6;0", "v1/3;0"]}
    first = selected(tmp_path / "a.yaml", {"operators": {"aten::add.out": {}}, "et_kernel_metadata": keys})
    second = selected(tmp_path / "b.yaml", {"operators": {"aten::mul.out": {}}})
    header = tmp_path / "new" / "count.h"
    lists = [f"--oplist-yaml={first}", f"--oplist_yaml={second}"]
    gen_max_kernel_num_main([*lists, f"--prim_ops_source={source}", f"--output_path={header}"])
    assert "#define EXECUTORCH_SELECTED_MAX_KERNEL_NUM 5\n" in header.read_text()


@pytest.mark.parametrize(
    "content",
    [{"include_all_operators": True}, {"operators": {"aten::add": {"include_all_overloads": True}}}],
)
def test_a_list_of_all_operators_defines_no_number(
    tmp_path: Path, source: Path, content: dict[str, object]
) -> None:
    path = selected(tmp_path / "list.yaml", content)
    assert gen_max_kernel_num([path], source, tmp_path / "count.h") is None
    assert "#define" not in (tmp_path / "count.h").read_text()


@pytest.mark.parametrize("text", ["// empty", "static Kernel prim_ops[] = {\n};\n"])
def test_a_source_without_kernels_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prim_ops.cpp"
    path.write_text(text)
    with pytest.raises(RuntimeError, match="no array `prim_ops` with kernels"):
        count_prim_ops(path)


def test_combined_headers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = tmp_path / "folders.txt"
    folders = [tmp_path / name for name in ("a", "b", "absent")]
    for folder, operators in zip(
        folders, (["aten::sym_size.int"], ["a::b", "aten::sym_size.int"]), strict=False
    ):
        folder.mkdir()
        write_selected_prim_ops(operators, str(folder))
    listed.write_text(" ".join(map(str, folders)))
    combine_prim_ops_headers_main(["--header_files", f"@{listed}", "--output_dir", str(tmp_path)])
    assert (tmp_path / "selected_prim_ops.h").read_text().splitlines()[2:] == [
        "#define EXECUTORCH_ENABLE_PRIM_OPS_SELECTIVE_BUILD",
        "#define INCLUDE_ATEN_SYM_SIZE_INT",
        "#define INCLUDE_A_B",
    ]
    assert "absent/selected_prim_ops.h does not exist" in capsys.readouterr().err
    combine_prim_ops_headers([], str(tmp_path / "all" / "selected_prim_ops.h"))
    assert (tmp_path / "all" / "selected_prim_ops.h").read_text() == "#pragma once\n"
    with pytest.raises(SystemExit, match="not @ with a file"):
        combine_prim_ops_headers_main(["--header_files", str(listed), "--output_dir", str(tmp_path)])
