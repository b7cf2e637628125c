"""`python -m rushlight.compat` runs programs that import `executorch`, and ExecuTorch's commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from rushlight.compiler.edge import to_edge
from rushlight.devtools.etrecord import generate_etrecord
from rushlight.devtools.inspector import Inspector
from rushlight.runtime.portable_lib import _load_for_executorch


def run(*arguments: str | Path, cwd: Path, code: int = 0) -> str:
    """Returns what `python -m rushlight.compat` prints for these arguments. Its exit code must be `code`."""
    command = [sys.executable, "-W", "ignore", "-m", "rushlight.compat", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two programs, an ETRecord and an ETDump."""
    made = tmp_path_factory.mktemp("commands")
    x = torch.ones(2, 3)
    exported = torch.export.export(torch.nn.Linear(3, 4), (x,))
    edge = to_edge(exported)
    program = edge.to_executorch()
    program.save(str(made / "a.pte"))
    to_edge(torch.export.export(torch.nn.ReLU(), (x,))).to_executorch().save(str(made / "b.pte"))
    generate_etrecord(str(made / "record.bin"), edge, program, extra_recorded_export_modules={"x": exported})
    module = _load_for_executorch(str(made / "a.pte"), enable_etdump=True)
    module.forward([x])
    module.write_etdump_result_to_file(str(made / "a.etdp"))
    return made


def test_it_runs_a_file_with_its_arguments_and_modules(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "app.py").write_text(
        "import sys, helper\nfrom executorch.exir import to_edge\n"
        "print(__name__, to_edge.__module__, sys.argv[1:])\n"
    )
    (tmp_path / "sub" / "helper.py").write_text("")
    assert run("sub/app.py", "-m", "x", cwd=tmp_path) == "__main__ rushlight.compiler.edge ['-m', 'x']\n"


def test_it_runs_code_and_passes_on_the_exit_code(tmp_path: Path) -> None:
    code = "import sys, executorch.exir; print(sys.argv); sys.exit(3)"
    assert run("-c", code, "--path", cwd=tmp_path, code=3) == "['-c', '--path']\n"


def test_a_path_has_more_submodules(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "hello.py").write_text("import sys; print('hello', *sys.argv[1:])")
    assert run("--path", tmp_path, "-m", "executorch.examples.hello", "you", cwd=tmp_path) == "hello you\n"


@pytest.mark.parametrize("arguments", [(), ("-m",), ("-c",), ("--unknown",), ("--path", "x")])
def test_arguments_without_a_program_give_the_usage(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert "usage: python -m rushlight.compat" in run(*arguments, cwd=tmp_path, code=1)


def test_a_module_without_a_command_is_refused(tmp_path: Path) -> None:
    assert "cannot be directly executed" in run("-m", "executorch.exir", cwd=tmp_path, code=1)


def test_inspector_cli_and_profiling_csv(folder: Path) -> None:
    cli = "executorch.devtools.inspector.inspector_cli"
    printed = run(
        "-m",
        cli,
        "--etdump_path",
        "a.etdp",
        "--etrecord_path",
        "record.bin",
        "--tsv_path",
        "a.tsv",
        cwd=folder,
    )
    assert "native_call_addmm.out" in printed
    assert "native_call_addmm.out" in (folder / "a.tsv").read_text()
    run(
        "-m",
        "executorch.devtools.scripts.generate_profiling_csv",
        "--etdump_path",
        "a.etdp",
        "--output",
        "a.csv",
        cwd=folder,
    )
    events = sum(len(block.events) for block in Inspector(str(folder / "a.etdp")).event_blocks)
    assert len((folder / "a.csv").read_text().splitlines()) == 1 + events


def test_size_analysis(folder: Path) -> None:
    tool = "executorch.devtools.size_analysis_tool.size_analysis_tool"
    run("-m", tool, "--etrecord_path", "record.bin", "--output_path", "sizes.json", cwd=folder)
    sizes = json.loads((folder / "sizes.json").read_text())
    assert [size["overview"]["total_tensor_data_size"] for size in sizes] == [(3 * 4 + 4) * 4]


def test_diff_pte(folder: Path) -> None:
    printed = run("-m", "executorch.devtools.pte_tool.diff_pte", "a.pte", "b.pte", "-v", cwd=folder)
    assert "aten::relu" in printed and "aten::addmm" in printed


def test_a_command_that_takes_its_arguments(folder: Path) -> None:
    tool = "executorch.codegen.tools.gen_oplist"
    run("-m", tool, "--model_file_path", "a.pte", "--output_path", "ops.yaml", cwd=folder)
    assert "aten::addmm.out" in (folder / "ops.yaml").read_text()


@pytest.mark.parametrize("external", [pytest.param(False, marks=pytest.mark.long), True])
def test_the_training_example(external: bool, tmp_path: Path) -> None:
    example = "executorch.extension.training.examples.XOR.export_model"
    run("-m", example, "--outdir", "out", *(["--external"] if external else []), cwd=tmp_path)
    files = {"xor.pte", "xor.ptd"} if external else {"xor.pte"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == files


def test_collect_env(tmp_path: Path) -> None:
    assert f"PyTorch version: {torch.__version__}" in run("-m", "executorch.util.collect_env", cwd=tmp_path)


def test_names_of_the_package_xnnpack(tmp_path: Path) -> None:
    code = (
        "from executorch.backends.xnnpack import XnnpackBackend, XnnpackPartitioner, "
        "XnnpackDynamicallyQuantizedPartitioner, get_xnnpack_edge_compile_config, "
        "get_xnnpack_executorch_backend_config; print(XnnpackBackend.__name__)"
    )
    assert run("-c", code, cwd=tmp_path).startswith("XnnpackBackend\n")
