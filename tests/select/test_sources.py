"""`select/sources.py`: the files that kernels and steps need."""

from __future__ import annotations

from pathlib import Path

import pytest

from rushlight.backends.cpu.plan.tables import UnaryFunction
from rushlight.runtime.kernels import kernel_names
from rushlight.select.sources import KINDS, RuntimeSources

SOURCES = RuntimeSources(Path(__file__).parents[2] / "runtime")


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_the_runtime(kind: str) -> None:
    assert sorted(row.name for row in SOURCES.rows[kind]) == sorted(kernel_names(kind))


def test_every_row_has_the_files_of_its_functions() -> None:
    for kind in KINDS:
        for row in SOURCES.rows[kind]:
            functions = list(row.functions())
            assert functions and len(SOURCES.kernel_files([row])) >= 1, row.name


def test_files_of_one_kernel() -> None:
    rows = [row for row in SOURCES.rows["portable"] if row.name == "aten::max_pool2d_with_indices.out"]
    files = SOURCES.closure(SOURCES.kernel_files(rows), frozenset())
    assert {"kernels/shared/pooling.cpp", "kernels/shared/max_pool.cpp"} <= files
    assert "kernels/shared/average_pool.cpp" not in files
    others = [path for path in files if path.startswith(("microkernels/", "backends/"))]
    assert others and all(path.startswith("microkernels/cortex_m/") for path in others)


@pytest.mark.parametrize(
    "kind,name,needed",
    [
        ("portable", "aten::pow.Tensor_Scalar_out", {"portable/sqrt.cpp", "portable/rsqrt.cpp"}),
        ("portable", "aten::max.unary_out", {"portable/amax.cpp"}),
        ("portable", "aten::zeros.out", {"portable/full.cpp"}),
        ("portable", "aten::split_copy.Tensor_out", {"portable/slice_copy.cpp"}),
        ("optimized", "aten::pow.Tensor_Scalar_out", {"portable/sqrt.cpp"}),
        ("optimized", "aten::_fft_c2c.out", {"optimized/fft_lines.cpp"}),
        ("optimized", "aten::index_add.out", {"optimized/index_add.cpp", "shared/steady.cpp"}),
    ],
)
def test_files_of_what_a_kernel_calls(kind: str, name: str, needed: set[str]) -> None:
    rows = [row for row in SOURCES.rows[kind] if row.name == name]
    files = SOURCES.closure(SOURCES.kernel_files(rows), frozenset())
    assert {f"kernels/{path}" for path in needed} <= files
    assert "kernels/portable/add.cpp" not in files


def test_instruction_sets_are_those_that_are_asked_for() -> None:
    files = SOURCES.closure([SOURCES.steps()["Gemm"]], frozenset({"avx2"}))
    assert {"microkernels/isa/f32_avx2.cpp", "microkernels/isa/f32_generic.cpp"} <= files
    assert not any("avx512" in path or "neon" in path for path in files)
    assert "microkernels/dwconv/f32.cpp" not in files


def test_microkernels_that_files_call() -> None:
    members, functions = SOURCES.microkernels(
        ["backends/cpu/steps/pool2d.cpp", "backends/cpu/steps/reduce.cpp"]
    )
    assert {"packed.pool", "reduce_rows", "sum"} <= members
    assert not {"packed.panel", "softmax", "packed.winograd"} & members
    assert functions == {"Affine"}


def test_functions_have_the_numbers_of_plans() -> None:
    names = [name.upper() for name in SOURCES.functions()]
    assert len(names) == max(UnaryFunction) + 1
    assert all(names[f] == f.name.replace("_", "") for f in UnaryFunction if f >= 0)


def test_folder_without_sources(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no sources of the runtime"):
        RuntimeSources(tmp_path)


def test_words_in_comments_select_nothing(tmp_path: Path) -> None:
    files = {
        "kernels/portable/table.cpp": "",
        "kernels/shared/pair.h": "// As combined().\nint chosen(int x);\n",
        "kernels/shared/chosen.cpp": '#include "kernels/shared/pair.h"\nint chosen(int x) { return x; }\n',
        "kernels/shared/other.cpp": '#include "kernels/shared/pair.h"\nint combined(int x) { return x; }\n',
        "kernels/portable/add.cpp": '#include "kernels/shared/pair.h"\n'
        'const char* url = "a//b"; /* combined */\nint add(int x) { return chosen(x); }  // combined\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = RuntimeSources(tmp_path).closure({"kernels/portable/add.cpp"}, frozenset())
    assert found == {"kernels/portable/add.cpp", "kernels/shared/chosen.cpp"}
