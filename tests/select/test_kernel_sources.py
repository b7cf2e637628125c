"""Sources of libraries of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.select.yaml_cases import ADD

from rushlight.select.kernel_index import read_kernels
from rushlight.select.kernel_sources import declarations, registration, torch_library


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    path = tmp_path / "functions.yaml"
    path.write_text(ADD)
    return path


def test_a_signature_of_pytorch_is_looked_up(functions: Path) -> None:
    index = read_kernels(functions, None)
    text = declarations(index, ["aten::add.out"])
    assert "Tensor& add_contiguous(" in text and "namespace mine::native {" in text
    assert "const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out);" in text
    assert text.count("add_contiguous") == 1


def test_own_kernels_and_those_of_the_runtime(functions: Path) -> None:
    index = read_kernels(functions, None)
    text = registration(index, ["aten::add.out", "aten::mul.out"], ["optimized", "portable"], "my-ops")
    assert '"aten::add.out", EXECUTORCH_FN(mine::native::add_contiguous), "v1/6;0,1,2,3|' in text
    assert 'names[] = {\n    "aten::add.out",\n    "aten::mul.out",\n};' in text
    assert "tables[] = {::rushlight::optimized_kernels(), ::rushlight::portable_kernels()}" in text
    assert 'extern "C" const bool rushlight_registered_my_ops' in text
    with pytest.raises(ValueError, match=r"aten::add.out .* add portable_kernels"):
        registration(index, ["aten::add.out"], [], "my-ops")


def test_functions_of_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "custom.yaml"
    path.write_text(
        "- func: my::mix.out(Tensor x, Tensor? y, *, int n=2, Tensor(a!) out) -> Tensor(a!)\n"
        "  kernels:\n    - arg_meta: null\n      kernel_name: my::mix_out\n"
    )
    text = torch_library(read_kernels(None, path), ["my::mix.out"])
    assert 'm.def("mix.out(Tensor x, Tensor? y, *, int n=2, Tensor(a!) out) -> Tensor(a!)",' in text
    assert 'm.def("mix(Tensor x, Tensor? y, *, int n=2) -> Tensor",' in text
    assert "WRAP_TO_ATEN(my::native::mix_out, 3)" in text
