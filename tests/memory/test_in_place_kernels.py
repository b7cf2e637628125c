"""For each row of the in-place table, the kernels have the same result if it overwrites an input."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.memory.in_place import IN_PLACE, WRITES_PARTS

kernels = pytest.importorskip("rushlight.runtime.kernels", reason="the native runtime is not built")

SHAPE = (130, 257)
ROW = (257,)


def floats(shape: Any = SHAPE) -> Any:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 0.8 + 0.1


def ints(shape: Any = SHAPE) -> Any:
    return torch.randint(1, 7, shape, generator=torch.Generator().manual_seed(2))


def bools(shape: Any = SHAPE) -> Any:
    return torch.rand(shape, generator=torch.Generator().manual_seed(3)) > 0.5


UNARY = """
    abs acos asin asinh atan atanh ceil cos cosh erf exp expm1 floor log log10 log1p log2 neg reciprocal relu
    round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
""".split()
WRITTEN = torch.tensor([3, 0, 99])


def rows() -> Any:
    """Returns (kernel, arguments, position of the overwritten argument)."""
    cases = [(f"aten::{name}.out", [floats()], 0) for name in UNARY]
    norms = [floats(ROW), floats(ROW), floats(ROW), floats(ROW)]
    cases += [
        ("aten::acosh.out", [floats() + 1], 0),
        ("aten::bitwise_not.out", [ints()], 0),
        ("aten::logical_not.out", [bools()], 0),
        ("aten::gelu.out", [floats(), "none"], 0),
        ("aten::logit.out", [floats(), None], 0),
        ("aten::elu.out", [floats() - 0.5, 1.0, 1.0, 1.0], 0),
        ("aten::leaky_relu.out", [floats() - 0.5, 0.01], 0),
        ("aten::hardtanh.out", [floats(), 0.2, 0.6], 0),
        ("aten::clamp.out", [floats(), 0.2, 0.6], 0),
        ("aten::clamp.Tensor_out", [floats(), floats(ROW), None], 0),
        ("aten::clamp.Tensor_out", [floats(ROW), floats(), None], 1),
        ("aten::clone.out", [floats(), None], 0),
        ("aten::_softmax.out", [floats(), -1, False], 0),
        ("aten::_softmax.out", [floats(), 0, False], 0),
        ("aten::masked_fill.Scalar_out", [floats(), bools(ROW), 2.0], 0),
        ("aten::index_put.out", [floats(), [WRITTEN], floats((3, 257)), False], 0),
        ("aten::scatter.value_out", [ints(), 0, ints((3, 257)), 5], 0),
        ("aten::scatter.src_out", [floats(), 0, WRITTEN[:, None], floats((3, 1))], 0),
        ("aten::scatter_add.out", [floats(), 0, WRITTEN[:, None], floats((3, 1))], 0),
        ("aten::slice_scatter.out", [floats(), floats((3, 257)), 0, 4, 7, 1], 0),
        ("aten::select_scatter.out", [floats(), floats(ROW), 0, 1], 0),
        ("aten::where.self_out", [bools(ROW), floats(), floats(ROW)], 1),
        ("aten::where.self_out", [bools((130, 1)), floats(ROW), floats()], 2),
        ("aten::_conj_physical.out", [torch.complex(floats(), floats())], 0),
        ("aten::_native_batch_norm_legit_no_training.out", [floats(), *norms, 0.1, 1e-5], 0),
        ("aten::pow.Tensor_Scalar_out", [floats(), 3], 0),
        ("aten::rsub.Scalar_out", [floats(), 3, 1], 0),
        ("dim_order_ops::_to_dim_order_copy.out", [floats(), False, [0, 1]], 0),
        ("dim_order_ops::_clone_dim_order.out", [floats(), False, [0, 1]], 0),
    ]
    arithmetic = [(name, [1], floats) for name in ("add", "sub")]
    arithmetic += [
        (name, [], floats) for name in ("mul", "div", "atan2", "maximum", "minimum", "floor_divide")
    ]
    binary = [(f"aten::{name}.out", extra, make) for name, extra, make in arithmetic]
    binary += [(f"aten::{name}.Tensor_out", [], floats) for name in ("fmod", "remainder")]
    binary += [("aten::pow.Tensor_Tensor_out", [], floats)]
    bits = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()
    binary += [(f"aten::{name}.Tensor_out", [], ints) for name in bits]
    binary += [(f"aten::logical_{name}.out", [], bools) for name in ("and", "or", "xor")]
    binary += [(f"aten::{name}.Tensor_out", [], bools) for name in "eq ne lt le gt ge".split()]
    for name, extra, make in binary:
        cases.append((name, [make(), make(ROW).roll(1), *extra], 0))
        cases.append((name, [make(ROW).roll(1), make(), *extra], 1))
        cases.append((name, [make(), make().roll(1), *extra], 0))
        cases.append((name, [make((130, 1)), make().roll(1), *extra], 1))
    return cases


def test_every_row_is_tried() -> None:
    tried = {name.rpartition(".")[0] for name, _, _ in rows()}
    assert tried == set(IN_PLACE)
    assert tried > WRITES_PARTS


def copies(arguments: Any) -> Any:
    return [
        a.clone() if isinstance(a, torch.Tensor) else [t.clone() for t in a] if is_tensors(a) else a
        for a in arguments
    ]


def is_tensors(argument: Any) -> Any:
    return isinstance(argument, list) and all(isinstance(item, torch.Tensor) for item in argument)


# The results besides the first one.
FURTHER_RESULTS = {"aten::_native_batch_norm_legit_no_training.out": 2}


@pytest.mark.parametrize("name, arguments, position", rows(), ids=lambda v: v if isinstance(v, str) else "")
def test_results_over_inputs(name: str, arguments: Any, position: Any) -> None:
    libraries = [lib for lib in ("portable", "optimized") if name in kernels.kernel_names(lib)]
    assert libraries
    further = [torch.empty(0) for _ in range(FURTHER_RESULTS.get(name, 0))]
    for library in libraries:
        apart = torch.empty_like(arguments[position])
        kernels.call_kernel(name, [*copies(arguments), apart, *further], library, threads=2)
        together = copies(arguments)
        kernels.call_kernel(name, [*together, together[position], *further], library, threads=2)
        torch.testing.assert_close(together[position], apart, rtol=0, atol=0)


def aliased() -> Any:
    """Returns (kernel, arguments, positions of arguments that are the same, overwritten tensor)."""
    cases = []
    for name, arguments, position in rows():
        row = IN_PLACE[name.rpartition(".")[0]]
        # Two tensors have the same shape and dtype. The first replaces the second.
        others = [
            other
            for other, given in enumerate(arguments)
            if other != position
            and isinstance(given, torch.Tensor)
            and given.shape == arguments[position].shape
            and given.dtype == arguments[position].dtype
        ]
        if others and len(row.elementwise) > 1:
            cases.append((name, arguments, [position, *others]))
    cases += [
        ("aten::clamp.Tensor_out", [floats(), floats(), floats()], [0, 1, 2]),
        ("aten::where.self_out", [bools(), bools(), bools()], [0, 1, 2]),
        ("aten::where.self_out", [bools(), bools(), ~bools()], [0, 2]),
        ("aten::masked_fill.Scalar_out", [bools(), bools(), False], [0, 1]),
        ("aten::pow.Tensor_Tensor_out", [floats(), floats()], [0, 1]),
    ]
    return cases


def test_every_argument_that_may_be_read_in_step_is_tried() -> None:
    tried = {name.rpartition(".")[0] for name, _, _ in aliased()}
    assert tried == {name for name, row in IN_PLACE.items() if len(row.elementwise) > 1}


@pytest.mark.parametrize("name, arguments, same", aliased(), ids=lambda v: v if isinstance(v, str) else "")
def test_results_over_several_arguments(name: str, arguments: Any, same: Any) -> None:
    libraries = [lib for lib in ("portable", "optimized") if name in kernels.kernel_names(lib)]
    assert libraries
    one = arguments[same[0]]
    for library in libraries:
        apart = torch.empty_like(one)
        separate = [one.clone() if i in same else a for i, a in enumerate(copies(arguments))]
        kernels.call_kernel(name, [*separate, apart], library, threads=2)
        under = one.clone()
        together = [under if i in same else a for i, a in enumerate(copies(arguments))]
        kernels.call_kernel(name, [*together, under], library, threads=2)
        torch.testing.assert_close(under, apart, rtol=0, atol=0, equal_nan=True)
