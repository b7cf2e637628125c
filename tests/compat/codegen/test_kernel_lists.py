"""YAML files of kernels: from a program, and merged from two files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml  # type: ignore[import-untyped]

import rushlight
from rushlight.compat.codegen.kernel_lists import gen_ops_def_main, merge_main


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) + x


def test_entries_of_a_program(tmp_path: Path) -> None:
    program, out = tmp_path / "model.pte", tmp_path / "functions.yaml"
    program.write_bytes(rushlight.compile(Model(), (torch.zeros(2),), partitioner=()).buffer)
    gen_ops_def_main(["--model_file_path", str(program), "--output_path", str(out)])
    assert out.read_text() == (
        "- func: aten::sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
        "  variants: function\n  dispatch:\n    CPU: torch::executor::sin_out\n\n"
        "- func: aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> "
        "Tensor(a!)\n  variants: function\n  dispatch:\n    CPU: torch::executor::add_out\n"
    )


@pytest.mark.parametrize("has_fallback", [True, False])
def test_merged_files(has_fallback: bool, tmp_path: Path) -> None:
    own, fallback = tmp_path / "own.yaml", tmp_path / "fallback.yaml"
    own.write_text("- op: add.out\n  kernels: [{kernel_name: mine::add}]\n")
    if has_fallback:
        fallback.write_text(
            "- func: aten::add.out(Tensor x) -> Tensor\n  kernels: [{kernel_name: a}]\n"
            "- op: mul.out\n  kernels: [{kernel_name: b}]\n"
        )
    merge_main(
        [
            "--functions-yaml-path",
            str(own),
            "--fallback_yaml_path",
            str(fallback),
            "--output_dir",
            str(tmp_path),
        ]
    )
    merged = yaml.safe_load((tmp_path / "merged.yaml").read_text())
    kernels = {entry["op"]: entry["kernels"][0]["kernel_name"] for entry in merged}
    assert kernels == ({"add.out": "mine::add", "mul.out": "b"} if has_fallback else {"add.out": "mine::add"})
