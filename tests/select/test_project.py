"""`select/project.py` and `rushlight select`: builds, their results, and excluded code."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from models.keyword_spotting import keyword_spectra

import rushlight
from models import selective
from rushlight.runtime import Runtime

needs_targets = pytest.mark.skipif(
    not os.environ.get("RUSHLIGHT_TARGETS"), reason="`make targets` runs it: its builds take minutes"
)


@contextlib.contextmanager
def with_programs_of(other: Path, project: Path) -> Iterator[None]:
    """Temporarily replaces the programs of a project by those of another.

    Builds compile only the differences.
    """
    path = project / "programs.cpp"
    before = path.read_bytes()
    path.write_bytes((other / "programs.cpp").read_bytes())
    try:
        yield
    finally:
        path.write_bytes(before)


@pytest.fixture(scope="module")
def int8_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits network in int8, portable kernels, with three test cases inside."""
    folder = tmp_path_factory.mktemp("select")
    images = selective.digits_images(3).split(1)
    program = selective.with_cases(selective.digits_program("int8"), images, folder, "digits")
    return selective.select([program], folder / "project", "--portable", "--embed")


def results_of_the_whole_runtime(program: bytes) -> list[str]:
    """Returns the output of a runner with all kernels for a program and its test cases."""
    method = Runtime.get().load_program(program).load_method("forward")
    return [
        selective.bits_of(torch.from_numpy(np.asarray(method.execute((image.numpy(),))[0])))
        for image in selective.digits_images(3).split(1)
    ]


def symbols(folder: Path) -> str:
    return subprocess.run(
        ["nm", "-C", str(folder / "rushlight" / "librushlight_selected.a")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_host_build_of_int8_digits(int8_project: Path) -> None:
    """The results are those of the whole runtime, and kernels that the program does not use are absent."""
    folder = selective.build(int8_project, "runner")
    code, text = selective.run(folder)
    assert code == 0, text
    assert selective.outputs(text) == results_of_the_whole_runtime(selective.digits_program("int8"))
    names = symbols(folder)
    assert "rushlight::quantized::quantized_convolution_out(" in names
    for absent in (
        "portable::add_out(",
        "portable::convolution_out(",
        "optimized::",
        "microkernels::",
        "CpuBackend",
    ):
        assert absent not in names, absent


def test_kernels_that_are_absent_are_named_at_load(int8_project: Path, tmp_path: Path) -> None:
    """Loading a program that the build does not support causes an error with the missing operators."""
    other = rushlight.compile(torch.nn.Softmax(1), (torch.zeros(1, 4),), partitioner=())
    path = tmp_path / "softmax.pte"
    path.write_bytes(other.buffer)
    softmax = selective.select([path], tmp_path / "softmax", "--portable", "--embed")
    with with_programs_of(softmax, int8_project):
        code, text = selective.run(selective.build(int8_project, "runner"))
    assert code == 1
    assert (
        "OperatorMissing: method 'forward' calls 1 operator that has no kernel here: aten::_softmax.out"
        in text
    )


def test_operators_without_kernels_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "operators.txt"
    path.write_text("mine::twice.out float32\n")
    from rushlight.cli.main import main

    arguments = ["select", str(path), "--out", str(tmp_path / "project")]
    assert main(arguments) == 1
    assert "no kernels for mine::twice.out" in capsys.readouterr().err
    assert main([*arguments, "--own", "mine::twice.out"]) == 0
    assert main([*arguments, "--own", "mine::twice.out", "mine::twise.out"]) == 1
    assert "--own mine::twise.out: no given file uses this operator" in capsys.readouterr().err


def test_programs_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A runner prints the name of each program. Quotes in a name are escaped."""
    from rushlight.cli.main import main

    first, second = tmp_path / 'a"\\.pte', tmp_path / "other" / 'a"\\.pte'
    second.parent.mkdir()
    for path, factor in ((first, 1), (second, 2)):
        example = (torch.zeros(factor),)
        path.write_bytes(rushlight.compile(torch.nn.Tanh(), example, partitioner=()).buffer)
    project = tmp_path / "project"
    arguments = ["--out", str(project), "--portable", "--embed"]
    assert main(["select", str(first), str(second), *arguments]) == 1
    assert "another program is also named" in capsys.readouterr().err
    assert main(["select", str(first), *arguments]) == 0
    assert '{"a\\"\\\\", kProgram0' in (project / "programs.cpp").read_text()


def test_sources_of_own_kernels_join_the_build(tmp_path: Path) -> None:
    """The kernels replace those of the runtime for their dtypes. No other argument is needed."""
    helper = tmp_path / "helper.cpp"
    helper.write_text("float tripled(float x) { return 3 * x; }\n")
    source = tmp_path / "kernels.cpp"
    source.write_text(OWN_KERNELS)
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Sigmoid())
    inputs = torch.full((1, 2, 2), 0.5)
    program = bytes(rushlight.compile(model, (inputs,), partitioner=()).buffer)
    path = selective.with_cases(program, [inputs], tmp_path, "model")
    project = tmp_path / "project"
    sources = ["--own-sources", str(source), str(helper)]
    selective.select([path], project, "--portable", "--embed", *sources)
    folder = selective.build(project, "runner")
    code, text = selective.run(folder)
    assert code == 0, text
    expected = torch.sigmoid(torch.full((1, 4), 1.5))
    shown = [int(word, 16) for word in selective.outputs(text)[0].split()[3:]]
    got = torch.tensor(shown, dtype=torch.int64).to(torch.int32).view(torch.float32)
    torch.testing.assert_close(got, expected.flatten())
    # Without --own-sources, the project does not contain them.
    selective.select([path], project, "--portable", "--embed")
    assert not (project / "own_kernels.h").exists()
    assert "OWN" not in (project / "selection.cmake").read_text()


OWN_KERNELS = """
#include "rushlight/core/library.h"

float tripled(float x);

namespace {

using namespace rushlight;

void relu_out(KernelRuntimeContext& context, const Tensor& x, Tensor& out) {
  const Error error = resize_tensor(out, x.sizes());
  if (error != Error::Ok) return context.fail(error);
  const float* from = x.const_data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) out.mutable_data_ptr<float>()[i] = tripled(from[i]);
}

constexpr Kernel kRows[] = {
    {"mine::unused.out", boxed<&relu_out>, DtypeSet{ScalarType::Float}},
    {"aten::relu.out", boxed<&relu_out>, DtypeSet{ScalarType::Float}},
};

}  // namespace

// RUSHLIGHT_KERNEL_LIBRARY("in a comment", kRows);
RUSHLIGHT_KERNEL_LIBRARY("mine", kRows);
"""


def test_operators_of_own_sources_have_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    operators = tmp_path / "operators.txt"
    operators.write_text("mine::unused.out float32\n")
    project = tmp_path / "project"
    project.mkdir()
    source = project / "kernels.cpp"
    source.write_text(OWN_KERNELS)
    arguments = [str(operators), "--out", str(project), "--portable", "--own-sources"]
    from rushlight.cli.main import main

    assert main(["select", *arguments, str(source), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["operators"] == ["aten::relu.out", "mine::unused.out"]
    # A source inside the project has a relative path.
    assert '"table_0=${CMAKE_CURRENT_LIST_DIR}/kernels.cpp"' in (project / "selection.cmake").read_text()
    other = tmp_path / "other.cpp"
    for text, message in [
        (None, "the file does not exist"),
        ("int x;\n", "no file defines a kernel table"),
        (OWN_KERNELS + 'RUSHLIGHT_KERNEL_LIBRARY("again", kRows);\n', "the file has 2 tables"),
    ]:
        if text is not None:
            other.write_text(text)
        assert main(["select", *arguments, str(other)]) == 1
        assert message in capsys.readouterr().err


def test_selection_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "operators.txt"
    path.write_text("aten::mm.out float32\naten::add.out float32\n")
    folder = tmp_path / "project"
    selective.select([path], folder, "--portable", "--json")
    assert json.loads(capsys.readouterr().out) == {
        "folder": str(folder),
        "operators": ["aten::add.out", "aten::mm.out"],
        "steps": [],
        "instruction_sets": ["generic"],
    }


def test_rows_have_the_dtypes_in_use(tmp_path: Path) -> None:
    path = tmp_path / "operators.txt"
    path.write_text("aten::add.out float32,int32\n")
    project = selective.select([path], tmp_path / "project", "--portable")
    assert "DtypeSet(ScalarType::Int, ScalarType::Float)" in (project / "portable_table.cpp").read_text()
    text = (project / "selection.cmake").read_text()
    assert "set(RUSHLIGHT_SELECTED_DTYPES 0x48u)" in text
    assert "kernels/portable/add.cpp" in text and "kernels/portable/mul.cpp" not in text


def test_sources_in_the_project_are_named_relative_to_it(tmp_path: Path) -> None:
    """The sources of the runtime are in the project, as with an installed package."""
    operators = tmp_path / "operators.txt"
    operators.write_text("aten::add.out float32\n")
    project = tmp_path / "project"
    tests = shutil.ignore_patterns("tests", "python")
    shutil.copytree(selective.ROOT / "runtime", project / "runtime", ignore=tests)
    selective.select([operators], project, "--portable", "--runtime", str(project / "runtime"))
    assert '"${CMAKE_CURRENT_SOURCE_DIR}/runtime"' in (project / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("level", range(5))
def test_texts_of_log_messages_below_the_level_are_absent(level: int, tmp_path: Path) -> None:
    names = ["Debug", "Info", "Warning", "Error"]
    source = tmp_path / "messages.cpp"
    calls = "".join(f'  RL_LOG({name}, "text of {name} %d", count);\n' for name in names)
    source.write_text(
        '#include "rushlight/platform/platform.h"\n\nvoid write([[maybe_unused]] int count) {\n'
        + calls
        + "}\n"
    )
    compiler = shutil.which("c++")
    assert compiler is not None
    include = selective.ROOT / "runtime" / "include"
    options = [
        "-std=c++17",
        "-O0",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{include}",
        f"-DRUSHLIGHT_LOG_LEVEL={level}",
    ]
    object_file = tmp_path / "messages.o"
    subprocess.run([compiler, *options, "-c", source, "-o", object_file], check=True)
    built = object_file.read_bytes()
    assert [name for name in names if f"text of {name}".encode() in built] == names[level:]


def test_microkernels_are_those_of_the_programs(tmp_path: Path) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(8, 8, 3, groups=8), torch.nn.Hardswish(), torch.nn.Conv2d(8, 16, 1)]
    program = tmp_path / "model.pte"
    rushlight.compile(torch.nn.Sequential(*layers), (torch.zeros(1, 8, 12, 12),)).save(program)
    text = (selective.select([program], tmp_path / "project") / "selected_microkernels.h").read_text()
    words = set(text.replace('"', " ").split())
    assert {"packed.panel", "packed.depthwise", "window3"} <= words
    assert not {"packed.attention", "packed.lstm", "packed.winograd", "softmax", "window5", "f16"} & words
    assert not {"grouped", "prologue"} & words
    assert (
        f"RL_SELECTED_FUNCTIONS {(1 << 6) | (1 << 12):#x}ull" in text
        or "RL_SELECTED_FUNCTIONS 0x40ull" in text
    )


@pytest.mark.skipif(
    not selective.has_tools("cortex-m4"), reason="needs arm-none-eabi-g++ and qemu-system-arm"
)
def test_int8_digits_on_a_cortex_m4(int8_project: Path) -> None:
    folder = selective.build(int8_project, "runner", "cortex-m4", ["-DRUSHLIGHT_TRACING=OFF"])
    code, text = selective.run(folder, "cortex-m4")
    assert code == 0, text
    assert selective.outputs(text) == results_of_the_whole_runtime(selective.digits_program("int8"))


@pytest.mark.skipif(
    not selective.has_tools("cortex-m4"), reason="needs arm-none-eabi-g++ and qemu-system-arm"
)
@pytest.mark.long
def test_two_memories_on_a_cortex_m4(tmp_path: Path) -> None:
    """The second memory lies in the slow RAM of the board, and the results are those of the host."""
    memories = [rushlight.Memory("ssram", 1, 2048), rushlight.Memory("psram", 2, cost=4.0)]
    program = selective.digits_program("int8", memories=memories)
    images = selective.digits_images(3).split(1)
    path = selective.with_cases(program, images, tmp_path, "digits")
    project = selective.select([path], tmp_path / "project", "--portable", "--embed")
    folder = selective.build(project, "runner", "cortex-m4", ["-DRUSHLIGHT_TRACING=OFF"])
    names = subprocess.run(["nm", "-C", folder / "runner"], capture_output=True, text=True, check=True).stdout
    (address,) = (int(line.split()[0], 16) for line in names.splitlines() if "second_arena" in line)
    assert address >= 0x21000000
    code, text = selective.run(folder, "cortex-m4")
    assert code == 0, text
    assert selective.outputs(text) == results_of_the_whole_runtime(program)


NETWORKS: dict[str, tuple[Callable[[str], bytes], Callable[[], torch.Tensor]]] = {
    "digits": (selective.digits_program, lambda: selective.digits_images(3)),
    "keywords": (selective.keyword_program, lambda: keyword_spectra(2)),
}


@needs_targets
@pytest.mark.parametrize("toolchain", selective.EMULATORS)
@pytest.mark.parametrize("form", ["float32", "int8"])
@pytest.mark.parametrize("network", NETWORKS)
def test_networks_have_the_results_of_the_host(
    network: str, form: str, toolchain: str, tmp_path: Path
) -> None:
    make, samples = NETWORKS[network]
    program = selective.with_cases(make(form), samples().split(1), tmp_path, network)
    project = selective.select([program], tmp_path / "project", "--portable", "--embed")
    texts = []
    for target in (selective.HOST, toolchain):
        code, text = selective.run(
            selective.build(project, "runner", target, ["-DRUSHLIGHT_TRACING=OFF"]), target
        )
        assert code == 0, text
        texts.append(selective.outputs(text))
    assert texts[0] == texts[1]


@needs_targets
@pytest.mark.parametrize("options", [(), selective.SMALL], ids=["fast", "small"])
@pytest.mark.parametrize("form", ["float32", "int8"])
def test_plans_of_digits_have_the_results_of_the_whole_runtime(
    form: str, options: Sequence[str], tmp_path: Path
) -> None:
    """CpuBackend with the steps and the instruction set of one plan."""
    program = selective.digits_program(form, plans=True)
    path = selective.with_cases(program, selective.digits_images(3).split(1), tmp_path, "digits")
    project = selective.select([path], tmp_path / "project", "--embed")
    code, text = selective.run(selective.build(project, "runner", options=options))
    assert code == 0, text
    assert selective.outputs(text) == results_of_the_whole_runtime(program)
