"""examples/executorch_cpp: programs for ExecuTorch's C++ interface, built on Rushlight."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.examples.support import EXAMPLES, run

from rushlight.devtools.etdump.serialize import deserialize_from_etdump_flatcc
from rushlight.runtime.libraries import cmake_dir, include_dir, runtime_sources

EXAMPLE = EXAMPLES / "executorch_cpp"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes the programs in a separate process, because it registers operators."""
    folder = tmp_path_factory.mktemp("programs")
    run([sys.executable, str(EXAMPLE / "models.py"), str(folder)])
    return folder


@pytest.mark.parametrize(
    ("program", "model", "expected"),
    [
        ("first_application", "add.pte", ["2", "4", "6", "8"]),
        (
            "module_and_tensors",
            "add.pte",
            ["inputs: 2, outputs: 1", "forward: 2 3 4 5", "get: 11 12 13 14"],
        ),
        ("custom_operator", "custom.pte", ["104", "108", "112"]),
        ("yaml_operator", "scale.pte", ["2 1.5", "4 2"]),
        ("custom_backend", "letters.pte", ["option precision of 1 bytes", "120", "460", "1020"]),
    ],
)
def test_prints(
    build_example: Callable[[str], Path], models: Path, program: str, model: str, expected: list[str]
) -> None:
    done = run([str(build_example("executorch_cpp") / program), str(models / model)])
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize(
    "files", [["xor.pte"], ["xor_weights_apart.pte", "_default_external_constant.ptd"]], ids=["one", "two"]
)
def test_training(build_example: Callable[[str], Path], models: Path, files: list[str]) -> None:
    program = str(build_example("executorch_cpp") / "train_xor")
    lines = run([program, *(str(models / name) for name in files)]).stdout.splitlines()
    losses = [float(line.split()[-1]) for line in lines if line.startswith("step")]
    assert losses[-1] < 0.05 < 0.3 < losses[0]
    assert [line for line in lines if "xor" in line] == [
        "0 xor 0: 0",
        "0 xor 1: 1",
        "1 xor 0: 1",
        "1 xor 1: 0",
    ]
    names = ["hidden.bias", "hidden.weight", "scores.bias", "scores.weight"]
    assert lines[0] == "parameters: " + " ".join(names)


def test_a_program_without_gradients_is_not_trained(
    build_example: Callable[[str], Path], models: Path
) -> None:
    program = str(build_example("executorch_cpp") / "train_xor")
    failed = subprocess.run([program, str(models / "add.pte")], capture_output=True, text=True)
    assert failed.returncode != 0
    assert "__et_training_gradients_index_forward" in failed.stderr


def test_runner(build_example: Callable[[str], Path], models: Path, tmp_path: Path) -> None:
    runner = str(build_example("executorch_cpp") / "portable_executor_runner")
    dump = tmp_path / "trace.etdp"
    done = run([runner, f"--model_path={models / 'add.pte'}", "--num_executions=2", f"--etdump={dump}"])
    assert done.stdout.splitlines() == ["Output 0: tensor(sizes=[2, 2], [3., 3., 3., 3.])"]
    blocks = deserialize_from_etdump_flatcc(dump.read_bytes()).run_data
    assert len(blocks) >= 2


def test_runner_on_test_cases(build_example: Callable[[str], Path], models: Path) -> None:
    runner = str(build_example("executorch_cpp") / "portable_executor_runner")
    done = run([runner, f"--model_path={models / 'add.bpte'}", "--testset_idx=1"])
    assert done.stdout.splitlines()[-1] == "Test case 1 passed."
    failed = subprocess.run(
        [runner, f"--model_path={models / 'add.bpte'}", "--testset_idx=7"], capture_output=True, text=True
    )
    assert failed.returncode != 0 and "7" in failed.stderr


def test_an_operator_without_kernel_is_an_error(build_example: Callable[[str], Path], models: Path) -> None:
    program = str(build_example("executorch_cpp") / "first_application")
    failed = subprocess.run([program, str(models / "custom.pte")], capture_output=True, text=True)
    assert failed.returncode != 0
    assert "my_ops::mul3.out" in failed.stderr and "OperatorMissing" in failed.stderr


COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_compiles_without_warnings(compiler: str, tmp_path: Path) -> None:
    """Compiles every example, and all headers in one file. `make_aten_functor...` needs PyTorch's headers."""
    folder = include_dir() / "rushlight-executorch"
    foreign = {"aten_util", "testing_util", "c10"}  # folders that need the headers of PyTorch or GoogleTest
    headers = sorted(
        path.relative_to(folder) for path in folder.rglob("*.h") if not foreign & set(path.parts)
    )
    assert len(headers) > 80
    everything = tmp_path / "everything.cpp"
    everything.write_text("".join(f"#include <{header.as_posix()}>\n" for header in headers))
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    folders = [f"-I{include_dir()}", f"-I{folder}"]
    for source in [everything, *sorted(EXAMPLE.glob("*.cpp"))]:
        run([compiler, *flags, *folders, str(source)])


@pytest.mark.long
def test_eager_pytorch_calls_the_kernels(tmp_path: Path) -> None:
    """The same C++ kernels are built as a library for PyTorch."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(aot LANGUAGES CXX)\n"
        "find_package(executorch CONFIG REQUIRED)\n"
        f"gen_custom_ops_aot_lib(LIB_NAME ops_aot CUSTOM_OPS_YAML {EXAMPLE}/custom_ops.yaml\n"
        f"  KERNEL_SOURCES {EXAMPLE}/yaml_kernels.cpp)\n"
    )
    build = tmp_path / "build"
    run(
        [
            "cmake",
            "-S",
            str(tmp_path),
            "-B",
            str(build),
            f"-Dexecutorch_DIR={cmake_dir().parent / 'executorch'}",
            f"-DPYTHON_EXECUTABLE={sys.executable}",
        ]
    )
    run(["cmake", "--build", str(build)])
    code = (
        "import sys, torch\n"
        "torch.ops.load_library(sys.argv[1])\n"
        "x = torch.arange(6.0).reshape(2, 3)\n"
        "torch.testing.assert_close(torch.ops.yaml_ops.scale(x, 2.0), x * 2)\n"
        "out = torch.empty(1, 1)\n"
        "assert torch.ops.yaml_ops.scale(x, 3.0, out=out) is out\n"
        "torch.testing.assert_close(out, x * 3)\n"
        "try:\n"
        "    torch.ops.yaml_ops.scale(x.long(), 2.0)\n"
        "except RuntimeError as error:\n"
        "    assert 'InvalidArgument' in str(error)\n"
        "else:\n"
        "    raise SystemExit('int64 is refused')\n"
    )
    run([sys.executable, "-c", code, str(next(build.glob("libops_aot.*")))])


# A project for ExecuTorch: custom kernels in a static library, and the functions of tools/cmake.
PROJECT = """\
cmake_minimum_required(VERSION 3.24)
project(application LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
if(WAY STREQUAL "find_package")
  find_package(executorch CONFIG REQUIRED FIND_ROOT_PATH_BOTH)
else()
  set(EXECUTORCH_BUILD_XNNPACK ON)
  set(EXECUTORCH_BUILD_VULKAN ON)
  add_subdirectory(${EXECUTORCH_ROOT} executorch)
endif()
include(${EXECUTORCH_ROOT}/tools/cmake/Utils.cmake)
include(${EXECUTORCH_ROOT}/tools/cmake/Codegen.cmake)
add_library(my_kernels STATIC kernels.cpp)
target_link_libraries(my_kernels PRIVATE executorch_core)
executorch_target_link_options_shared_lib(my_kernels)
executorch_target_link_options_shared_lib(portable_ops_lib)
gen_selected_ops(LIB_NAME my_ops_lib ROOT_OPS aten::add.out DTYPE_SELECTIVE_BUILD ON)
generate_bindings_for_kernels(
  LIB_NAME my_ops_lib FUNCTIONS_YAML ${EXECUTORCH_ROOT}/kernels/portable/functions.yaml)
gen_operators_lib(LIB_NAME my_ops_lib KERNEL_LIBS portable_kernels DEPS executorch)
add_executable(application main.cpp)
target_link_libraries(application PRIVATE executorch extension_module_static my_kernels my_ops_lib)
target_link_options_gc_sections(application)
"""
KERNELS = """\
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
using executorch::aten::Tensor;
Tensor& copy(executorch::runtime::KernelRuntimeContext&, const Tensor& x, Tensor& out) {
  for (ssize_t i = 0; i < x.numel(); ++i) out.mutable_data_ptr<float>()[i] = x.const_data_ptr<float>()[i];
  return out;
}
Tensor& same(executorch::runtime::KernelRuntimeContext& context, const Tensor& x, int64_t, Tensor& out) {
  return copy(context, x, out);
}
EXECUTORCH_LIBRARY(my_ops, "mul3.out", copy);
EXECUTORCH_LIBRARY(my_ops, "shift.out", same);
"""
MAIN = """\
#include <executorch/extension/module/module.h>
int main(int, char** arguments) {
  executorch::extension::Module module(arguments[1]);
  return static_cast<int>(module.load_forward());
}
"""


@pytest.mark.parametrize("way", ["find_package", "add_subdirectory"])
def test_a_project_with_its_own_kernels(way: str, models: Path, tmp_path: Path) -> None:
    for name, text in (("CMakeLists.txt", PROJECT), ("kernels.cpp", KERNELS), ("main.cpp", MAIN)):
        (tmp_path / name).write_text(text)
    package = cmake_dir().parent / "executorch"
    build = tmp_path / "build"
    options = [f"-Dexecutorch_DIR={package}", f"-DEXECUTORCH_ROOT={package}", f"-DWAY={way}"]
    done = run(
        ["cmake", "-S", str(tmp_path), "-B", str(build), *options, f"-DPYTHON_EXECUTABLE={sys.executable}"]
    )
    assert "DTYPE_SELECTIVE_BUILD has no effect" in done.stderr
    assert ("EXECUTORCH_BUILD_VULKAN has no effect" in done.stderr) == (way == "add_subdirectory")
    run(["cmake", "--build", str(build)])
    run([str(build / "application"), str(models / "custom.pte")])


# A project whose application registers the kernels itself.
MANUAL_PROJECT = """\
cmake_minimum_required(VERSION 3.24)
project(application LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(executorch CONFIG REQUIRED)
gen_selected_ops(LIB_NAME my_ops_lib ROOT_OPS aten::add.out)
gen_operators_lib(LIB_NAME my_ops_lib KERNEL_LIBS portable_kernels DEPS executorch MANUAL_REGISTRATION)
add_executable(application main.cpp)
target_link_libraries(application PRIVATE executorch extension_module_static my_ops_lib)
"""
MANUAL_MAIN = """\
#include <RegisterKernels.h>
#include <executorch/extension/module/module.h>
using executorch::runtime::Error;
int main(int, char** arguments) {
  executorch::extension::Module before(arguments[1]);
  if (before.load_forward() != Error::OperatorMissing) return 1;
  if (torch::executor::register_all_kernels() != Error::Ok) return 2;
  executorch::extension::Module after(arguments[1]);
  return after.load_forward() == Error::Ok ? 0 : 3;
}
"""


def test_an_application_registers_the_kernels(models: Path, tmp_path: Path) -> None:
    for name, text in (("CMakeLists.txt", MANUAL_PROJECT), ("main.cpp", MANUAL_MAIN)):
        (tmp_path / name).write_text(text)
    package = cmake_dir().parent / "executorch"
    build = tmp_path / "build"
    options = [f"-Dexecutorch_DIR={package}", f"-DPYTHON_EXECUTABLE={sys.executable}"]
    run(["cmake", "-S", str(tmp_path), "-B", str(build), *options])
    run(["cmake", "--build", str(build)])
    run([str(build / "application"), str(models / "add.pte")])


def _configure(folder: Path, package: Path, *calls: str) -> subprocess.CompletedProcess[str]:
    """Configures a project with a folder for each call of find_package."""
    lines = ["cmake_minimum_required(VERSION 3.24)", "project(application LANGUAGES C CXX)"]
    (folder / "main.cpp").write_text(MAIN)
    for i, call in enumerate(calls):
        (folder / str(i)).mkdir()
        (folder / str(i) / "CMakeLists.txt").write_text(
            f"{call}\nadd_executable(application{i} ../main.cpp)\n"
            f"target_link_libraries(application{i} PRIVATE executorch extension_module_static)\n"
            f"target_compile_features(application{i} PRIVATE cxx_std_${{EXECUTORCH_CXX_STANDARD}})\n"
        )
        lines.append(f"add_subdirectory({i})")
    (folder / "CMakeLists.txt").write_text("\n".join(lines))
    command = ["cmake", "-S", str(folder), "-B", str(folder / "build")]
    return subprocess.run(
        [*command, f"-Dexecutorch_DIR={package}", f"-DExecuTorch_DIR={package}"],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("kind", ["libraries", "sources"])
def test_several_folders_find_the_package(kind: str, tmp_path: Path) -> None:
    """The package with libraries, and the package of a wheel, which has sources."""
    package = cmake_dir().parent / "executorch"
    if kind == "sources":
        root = tmp_path / "rushlight"
        checkout = runtime_sources(tmp_path)
        shutil.copytree(package, root / "lib" / "cmake" / "executorch")
        (root / "lib" / "cmake" / "rushlight").mkdir()
        for name, target in (("sources-config", "config"), ("library", "library")):
            shutil.copy(
                checkout / "cmake" / f"rushlight-{name}.cmake",
                root / "lib" / "cmake" / "rushlight" / f"rushlight-{target}.cmake",
            )
        (root / "include").mkdir()
        with tarfile.open(root / "runtime_sources.tar.xz", "w:xz", preset=0) as archive:
            archive.add(checkout, ".", filter=lambda item: None if "/tests" in item.name else item)
        package = root / "lib" / "cmake" / "executorch"
    project = tmp_path / "project"
    project.mkdir()
    done = _configure(
        project,
        package,
        "find_package(executorch CONFIG REQUIRED)",
        "find_package(executorch REQUIRED COMPONENTS extension_module kernels_optimized)",
        "find_package(ExecuTorch CONFIG REQUIRED)",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["executorch", "ExecuTorch"])
def test_a_missing_component_is_named(name: str, tmp_path: Path) -> None:
    package = cmake_dir().parent / "executorch"
    done = _configure(tmp_path, package, f"find_package({name} CONFIG REQUIRED COMPONENTS backend_cuda)")
    assert done.returncode != 0
    assert "the package has no component backend_cuda" in done.stderr
