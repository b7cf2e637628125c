"""`generators/`: the C code of each operator has the results of its portable kernel, bit for bit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.aot_c.harness import (
    SANITIZED,
    Library,
    assert_same_bits,
    compile_library,
    compilers,
    needs_targets,
)
from tests.aot_c.one_call import Call, CallProgram, inputs_of, tensors_of
from tests.aot_c.same_calls import check_calls, permuted, program_of
from tests.ops import elementwise_cases, ordering_cases, reduction_cases, test_index, test_nn, test_shape
from tests.ops import harness as ops
from torch.utils import _pytree as pytree

from rushlight.aot_c.errors import AotCError
from rushlight.aot_c.generators import (
    activations,
    advanced_indexing,
    arithmetic,
    columns,
    comparisons,
    complex_numbers,
    convolution,
    fills,
    floating_parts,
    functions,
    gemm,
    indexing,
    normalization,
    norms,
    pooling,
    reductions,
    resampling,
    sampling,
    scans,
    scattering,
    searching,
    shapes,
    sorting,
    spectra,
    statistics,
)
from rushlight.aot_c.generators.table import GENERATORS
from rushlight.aot_c.program import c_program
from rushlight.runtime import call_kernel, kernel_names
from rushlight.runtime.errors import RushlightError

ALL: dict[str, Any] = {}
for _module in (elementwise_cases, ordering_cases, reduction_cases, test_index, test_nn, test_shape):
    ALL.update(_module.CASES)
FAMILIES = {
    "activations": activations.GENERATORS,
    "advanced_indexing": advanced_indexing.GENERATORS,
    "arithmetic": arithmetic.GENERATORS,
    "columns": columns.GENERATORS,
    "comparisons": comparisons.GENERATORS,
    "complex_numbers": complex_numbers.GENERATORS,
    "convolution": convolution.GENERATORS,
    "fills": fills.GENERATORS,
    "floating_parts": floating_parts.GENERATORS,
    "functions": functions.GENERATORS,
    "gemm": gemm.GENERATORS,
    "indexing": indexing.GENERATORS,
    "normalization": normalization.GENERATORS,
    "norms": norms.GENERATORS,
    "pooling": pooling.GENERATORS,
    "reductions": reductions.GENERATORS,
    "resampling": resampling.GENERATORS,
    "sampling": sampling.GENERATORS,
    "scans": scans.GENERATORS,
    "scattering": scattering.GENERATORS,
    "searching": searching.GENERATORS,
    "shapes": shapes.GENERATORS,
    "spectra": spectra.GENERATORS,
    "sorting": sorting.GENERATORS,
    "statistics": statistics.GENERATORS,
}

# Some cases of these are not supported: masks give shapes which are known at run time only.
MAY_BE_REFUSED = frozenset(
    {
        "aten::index.Tensor_out",
        "aten::index_put.out",
        "aten::index_put_",
        "aten::linear.out",
        "aten::unfold_copy.out",
    }
)


def spread(cases: list[ops.Case], most: int) -> list[ops.Case]:
    """Returns at most `most` cases, which are evenly spread over the list."""
    if len(cases) <= most:
        return cases
    return [cases[i * len(cases) // most] for i in range(most)]


def calls_of(
    name: str, most: int
) -> Iterator[tuple[ops.Case, list[Any], list[torch.Tensor], list[torch.Tensor]]]:
    """Returns cases of an operator with arguments, outs and the results of the portable kernel."""
    operator = ops.operator(name)
    for case in spread(ALL[name](), most):
        wanted = ops.expected(name, case)
        arguments = ops._arguments(operator, case)
        outs = [ops.blank(tensor) for tensor in wanted]
        try:
            results = ops.compute(name, case, outs)
        except RushlightError:
            continue  # dtypes that only another kernel has
        if all(result.shape == tensor.shape for result, tensor in zip(results, wanted, strict=True)):
            yield case, arguments, outs, results


def check_family(
    family: str, folder: Path, most: int, compiler: str, flags: tuple[str, ...], constants: bool = False
) -> None:
    program = CallProgram(constants)
    runs: list[tuple[str, list[torch.Tensor], list[torch.Tensor]]] = []
    missing = []
    for name in FAMILIES[family]:
        if name not in ALL:
            continue
        written = 0
        for case, arguments, outs, results in calls_of(name, most):
            one = CallProgram(constants)
            one.add(name, arguments, outs)
            try:
                c_program(one.bytes(), "model")
            except AotCError:
                has_complex = any(tensor.is_complex() for tensor in tensors_of(arguments) + results)
                assert has_complex or name in MAY_BE_REFUSED, f"{name} {case}"
                continue
            program.add(name, arguments, outs)
            runs.append((f"{name} {case}", inputs_of(arguments, constants), results))
            written += 1
        if not written:
            missing.append(name)
    assert not missing
    text = c_program(program.bytes(), "model")
    library = Library(compile_library(text, "model", folder, compiler, flags), text)
    for index, (what, inputs, results) in enumerate(runs):
        assert_same_bits(library(f"call_{index}", *inputs), results, what)


IMAGE, WEIGHT = torch.ones(1, 4, 4, 4), torch.ones(4, 4, 1, 1)
INVALID_CALLS: list[tuple[str, str, list[Any]]] = [
    ("groups is 0", "aten::convolution.out", [IMAGE, WEIGHT, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 0]),
    ("the factor is 0", "aten::pixel_shuffle.out", [IMAGE, 0]),
    ("the factor is 0", "aten::pixel_unshuffle.out", [IMAGE, 0]),
    ("there are 1 shifts and 2 dims", "aten::roll.out", [IMAGE, [1], [0, 1]]),
    ("argument 2 is not a list", "aten::upsample_nearest2d.vec_out", [IMAGE, None, 2]),
]


@pytest.mark.parametrize(("message", "name", "arguments"), INVALID_CALLS)
def test_invalid_arguments_are_refused(message: str, name: str, arguments: list[Any]) -> None:
    program = CallProgram()
    program.add(name, arguments, [torch.zeros(1, 4, 4, 4)])
    with pytest.raises(AotCError, match=message):
        c_program(program.bytes(), "model")


def laid_out(shape: tuple[int, ...], *order: int) -> torch.Tensor:
    """Returns a random tensor whose dims are stored in another order, from the outermost to the innermost."""
    return permuted(torch.randn(shape), *order)


# Inputs and outs have different layouts, so that no two loops can be merged.
NESTED_CALLS: dict[str, tuple[str, list[Any], list[torch.Tensor]]] = {
    "log_softmax": (
        "aten::_log_softmax.out",
        [laid_out((5, 4, 3, 2), 0, 1, 2, 3), -1, False],
        [laid_out((5, 4, 3, 2), 3, 1, 0, 2)],
    ),
    "softmax": (
        "aten::_softmax.out",
        [laid_out((5, 4, 3, 9), 0, 1, 2, 3), -1, False],
        [laid_out((5, 4, 3, 9), 3, 1, 0, 2)],
    ),
    "sum": (
        "aten::sum.IntList_out",
        [laid_out((5, 4, 3, 9), 3, 0, 1, 2), [-1], False, None],
        [laid_out((5, 4, 3), 1, 0, 2)],
    ),
    "logsumexp": (
        "aten::logsumexp.out",
        [laid_out((5, 3, 4, 7, 2), 4, 2, 1, 0, 3), [1, 4], True],
        [laid_out((5, 1, 4, 7, 1), 3, 0, 2, 1, 4)],
    ),
    "vector norm": (
        "aten::linalg_vector_norm.out",
        [laid_out((5, 6, 3, 2, 3), 2, 0, 3, 1, 4), 1, [-2], True, None],
        [laid_out((5, 6, 3, 1, 3), 0, 1, 2, 4, 3)],
    ),
    "group norm without elements": (
        "aten::native_group_norm.out",
        [torch.ones(2, 6, 0), torch.ones(6), None, 2, 6, 0, 2, 1e-5],
        [torch.ones(2, 6, 0), torch.ones(2, 2), torch.ones(2, 2)],
    ),
    "index_fill without an index": (
        "aten::index_fill.int_Scalar_out",
        [torch.ones(3, 4), 1, torch.ones(0, dtype=torch.int64), 2],
        [torch.ones(3, 4)],
    ),
    "index_fill by a tensor without an index": (
        "aten::index_fill.int_Tensor_out",
        [torch.ones(3, 4), 1, torch.ones(0, dtype=torch.int64), torch.tensor(2.0)],
        [torch.ones(3, 4)],
    ),
}


def test_layouts_and_empty_arguments(tmp_path: Path) -> None:
    program = CallProgram()
    for name, arguments, outs in NESTED_CALLS.values():
        program.add(name, arguments, outs)
        call_kernel(name, [*arguments, *outs], "portable")
    text = c_program(program.bytes(), "model")
    library = Library(compile_library(text, "model", tmp_path, next(iter(compilers()))), text)
    for index, (what, (_, arguments, outs)) in enumerate(NESTED_CALLS.items()):
        assert_same_bits(library(f"call_{index}", *tensors_of(arguments)), outs, what)


def as_complex(value: Any) -> Any:
    """Returns a complex64 tensor in place of a float32 tensor."""
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    return torch.complex(value, value.flip(0) if value.dim() else value)


def complex_calls(most: int) -> Iterator[Call]:
    """Returns calls with complex in place of float32 arguments for which there is C code.

    The outs of a case are float32 in one call and complex in another one.
    """
    for name in GENERATORS:
        for case in spread(ALL[name](), most) if name in ALL else ():
            arguments = pytree.tree_map(as_complex, ops._arguments(ops.operator(name), case))
            if not any(tensor.is_complex() for tensor in tensors_of(arguments)):
                continue
            real = [ops.blank(tensor) for tensor in ops.expected(name, case)]
            if not all(tensor.numel() for tensor in real):
                continue
            for outs in (real, [as_complex(tensor) for tensor in real]):
                call = Call(name, arguments, outs)
                try:
                    program_of([call])
                except AotCError:
                    continue
                yield call


def test_complex_arguments_of_real_cases(tmp_path: Path) -> None:
    """If there is C code for a call with complex tensors, the portable kernel accepts the call too."""
    calls = list(complex_calls(4))
    assert {"aten::mul.out", "aten::cat.out", "aten::_to_copy.out"} <= {call.name for call in calls}
    check_calls(calls, tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_bits_of_the_portable_kernels(family: str, tmp_path: Path) -> None:
    """Tests a part of the cases, alternately with GCC and Clang."""
    names = list(compilers())
    compiler = names[list(FAMILIES).index(family) % len(names)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_family(family, tmp_path, 2, compiler, ("-O1",))


@needs_targets
@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("family", FAMILIES)
def test_all_cases(family: str, compiler: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_family(family, tmp_path, 10_000, compiler, ("-O2",))


@needs_targets
def test_constant_weights(tmp_path: Path) -> None:
    """With a constant weight, the loops skip the padding."""
    for family in ("gemm", "convolution", "indexing", "advanced_indexing", "scattering"):
        check_family(family, tmp_path / family, 10_000, "gcc", ("-O2",), constants=True)


def test_constant_weights_of_some_cases(tmp_path: Path) -> None:
    for family in ("gemm", "convolution"):
        check_family(family, tmp_path / family, 4, "gcc", ("-O1",), constants=True)


@needs_targets
@pytest.mark.parametrize("family", FAMILIES)
def test_sanitizers(family: str, tmp_path: Path) -> None:
    """The functions run in a separate program, because ctypes cannot load code with AddressSanitizer."""
    from tests.aot_c.sanitized import run_all

    program = CallProgram()
    for name in FAMILIES[family]:
        if name not in ALL:
            continue
        for _, arguments, outs, _ in calls_of(name, 20):
            one = CallProgram()
            one.add(name, arguments, outs)
            try:
                c_program(one.bytes(), "model")
            except AotCError:
                continue
            program.add(name, arguments, outs)
    run_all(c_program(program.bytes(), "model"), tmp_path, SANITIZED)


def test_every_generator_has_a_kernel() -> None:
    kernels = {*kernel_names("portable"), *kernel_names("quantized")}
    assert not GENERATORS.keys() - kernels


def test_copies_that_have_no_cases(tmp_path: Path) -> None:
    """Operators of other libraries that copy a tensor, and `copy_`, which writes its argument."""
    x = torch.arange(24.0).reshape(2, 3, 4)
    cases: list[tuple[str, list[Any], torch.Tensor]] = [
        ("dim_order_ops::_clone_dim_order.out", [x, False, [0, 1, 2]], x),
        ("dim_order_ops::_to_dim_order_copy.out", [x, False, [0, 1, 2]], x.int()),
        ("dim_order_ops::_empty_dim_order.out", [[2, 3], None], torch.zeros(0)),
        ("et_copy::_h2d_copy.out", [x], x),
        ("et_copy::_d2h_copy.out", [x], x),
        ("quantized_decomposed::convert_element_type.no_fuse_out", [x, torch.int16], x.short()),
        ("aten::view_copy.dtype_out", [x, torch.int32], x.view(torch.int32)),
        ("aten::true_divide.out", [x, x + 1], x / (x + 1)),
    ]
    program = CallProgram()
    for name, arguments, result in cases:
        program.add(name, arguments, [torch.empty_like(result)])
    text = c_program(program.bytes(), "model")
    library = Library(compile_library(text, "model", tmp_path, "gcc"), text)
    for index, (name, arguments, result) in enumerate(cases):
        assert_same_bits(library(f"call_{index}", *tensors_of(arguments)), [result], name)
