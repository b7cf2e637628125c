"""`selected_operators.yaml`: lists of operators from programs, names and YAML files, and their union."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml  # type: ignore[import-untyped]

import rushlight
from rushlight.compat.codegen.operator_lists import (
    IOMetaData,
    create_kernel_key,
    dump_yaml,
    gen_all_oplist_main,
    gen_oplist,
    gen_oplist_main,
    get_kernel_metadata_for_model,
    io_metadata,
    program_from_buffer,
    program_operators,
)
from rushlight.format.program import ScalarType
from rushlight.select.usage import read_usage

KERNELS = """
- op: add.out
  kernels: [{arg_meta: null, kernel_name: my::add_out}]
- func: my::mul.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
  dispatch: {CPU: my::mul_out}
"""


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x + y, x], 1)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs") / "model.pte"
    inputs = (torch.zeros(2, 3), torch.zeros(2, 3))
    path.write_bytes(rushlight.compile(Model(), inputs, partitioner=()).buffer)
    return path


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def test_arguments_of_calls(program: Path) -> None:
    loaded = program_from_buffer(program.read_bytes())
    assert program_operators(loaded) == ["aten::add.out", "aten::cat.out"]
    tensor, number = IOMetaData(5, ScalarType.FLOAT, [0, 1]), IOMetaData(2)
    assert io_metadata(loaded) == {
        "aten::add.out": {(tensor, tensor, number, tensor, tensor)},
        "aten::cat.out": {(tensor, number, tensor, tensor)},
    }


def test_keys_of_a_program(program: Path) -> None:
    assert get_kernel_metadata_for_model(str(program)) == {
        "aten::add.out": ["v1/6;0,1|6;0,1|6;0,1|6;0,1"],
        "aten::cat.out": ["v1/6;0,1|6;0,1|6;0,1"],
    }


def test_a_list_from_all_sources(program: Path, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels.yaml"
    kernels.write_text(KERNELS)
    gen_oplist_main(
        [
            f"--output-path={tmp_path}",
            f"--model_file_path={program}",
            f"--ops_schema_yaml_path={kernels}",
            "--root_ops=aten::relu.out, aten::abs.out",
            f"--ops_dict={json.dumps({'aten::sub.out': ['Float', 'v1/3;0'], 'aten::neg.out': []})}",
        ]
    )
    content = read(tmp_path / "selected_operators.yaml")
    assert content["et_kernel_metadata"] == {
        "aten::abs.out": ["default"],
        "aten::add.out": ["default", "v1/6;0,1|6;0,1|6;0,1|6;0,1"],
        "aten::cat.out": ["v1/6;0,1|6;0,1|6;0,1"],
        "aten::neg.out": ["default"],
        "aten::relu.out": ["default"],
        "aten::sub.out": ["v1/3;0", "v1/6;"],
        "my::mul.out": ["default"],
    }
    assert set(content["operators"]) == set(content["et_kernel_metadata"])
    assert "&" not in (tmp_path / "selected_operators.yaml").read_text()
    assert content["operators"]["my::mul.out"]["debug_info"] == [str(kernels)]
    usage = read_usage(tmp_path / "selected_operators.yaml")
    assert usage.operators["aten::sub.out"] == {ScalarType.INT, ScalarType.FLOAT}
    assert usage.operators["aten::relu.out"] is None


def test_an_empty_list_and_a_list_of_all_operators(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    gen_oplist(path)
    assert read(path)["operators"] == {} and not read(path)["include_all_operators"]
    gen_oplist_main([f"--output_path={path}", "--include-all-operators"])
    assert read_usage(path).every_operator


def test_errors_tell_their_cause(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    with pytest.raises(RuntimeError, match="list.yaml was not written.*no.pte"):
        gen_oplist_main([f"--output_path={path}", "--model_file_path=no.pte"])
    with pytest.raises(ValueError, match="'Quux' is neither a kernel key nor a dtype"):
        create_kernel_key("Quux")


def test_lists_are_merged(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    first, second = tmp_path / "a.yaml", tmp_path / "b" / "selected_operators.yaml"
    dump_yaml(["aten::add.out", "aten::mul.out"], first, "a.pte", {"aten::add.out": ["v1/6;0"]})
    dump_yaml(["aten::add.out"], second, "b.pte", {"aten::add.out": ["v1/3;0"]})
    paths = tmp_path / "paths.txt"
    paths.write_text(f"{first}\n{second.parent}\n")
    arguments = [f"--output_dir={tmp_path}", f"--model-file-list-path=@{paths}"]
    gen_all_oplist_main(arguments)
    content = read(tmp_path / "selected_operators.yaml")
    assert set(content["operators"]["aten::add.out"]["debug_info"]) == {str(first), str(second)}
    assert content["operators"]["aten::mul.out"]["debug_info"] == [str(first)]
    assert content["et_kernel_metadata"] == {"aten::add.out": ["v1/3;0", "v1/6;0"]}
    with pytest.raises(ValueError, match=r"aten::add.out is used in 2 models: .*a.yaml and "):
        gen_all_oplist_main([*arguments, "--check_ops_not_overlapping"])


def test_overloads_need_an_option(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    entry = {"is_root_operator": True, "is_used_for_training": True, "include_all_overloads": True}
    path.write_text(yaml.safe_dump({"operators": {"aten::add": entry}}))
    arguments = [f"--output_dir={tmp_path}", f"--model_file_list_path={path}"]
    with pytest.raises(ValueError, match="aten::add"):
        gen_all_oplist_main(arguments)
    gen_all_oplist_main([*arguments, "--allow_include_all_overloads"])
    assert read(tmp_path / "selected_operators.yaml")["operators"]["aten::add"]["include_all_overloads"]
