"""Selected nodes run for every size within the bounds and in every layout. Other nodes are not selected."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

import rushlight
from rushlight.backends.xnnpack import XnnpackPartitioner, support
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower
from rushlight.quantize import get_symmetric_quantization_config, quantize
from rushlight.runtime.errors import NotSupportedError, RushlightError


class _Function(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def compiled(module: nn.Module, *inputs: torch.Tensor, dynamic: Any = None, whole: bool = True) -> Any:
    """Compiles the module for XnnpackBackend. With `whole`, the backend must run all of it."""
    if dynamic is not None and isinstance(module, _Function):
        dynamic = (dynamic,)  # its parameters are one tuple
    program = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert (get_non_lowered_nodes(edge.exported_program().graph) == []) is whole
    return rushlight.load(bytes(edge.to_executorch().buffer))


def assert_equal(got: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5, equal_nan=True)


SMALL_RESULTS = {
    "batch": (nn.ConvTranspose2d(3, 16, 3, 3, 1), torch.randn(2, 3, 1, 1)),
    "one_axis": (nn.ConvTranspose2d(3, 4, 4, (4, 1), (1, 0)), torch.randn(1, 3, 1, 5)),
    "grouped": (nn.ConvTranspose2d(4, 4, 3, 3, 1, groups=2), torch.randn(1, 4, 1, 1)),
    "line": (nn.ConvTranspose1d(3, 4, 5, 4, 2), torch.randn(2, 3, 1)),
    "output_padding": (
        nn.ConvTranspose1d(8, 2, 9, padding=2, output_padding=1, dilation=2),
        torch.randn(1, 8, 16),
    ),
}


@pytest.mark.parametrize("name", SMALL_RESULTS)
def test_transposed_convolutions_that_the_library_cannot_do_stay_outside(name: str) -> None:
    module, x = SMALL_RESULTS[name]
    assert_equal(compiled(module, x, whole=False)(x), module(x))


@pytest.mark.parametrize("name", SMALL_RESULTS)
def test_a_foreign_file_with_one_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "_transposed", lambda node, source: None)
    module, x = SMALL_RESULTS[name]
    assert_equal(compiled(module, x)(x), module(x))


def test_a_foreign_file_with_a_small_result_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build with XNNPACK selects XNNPACK at load. At run time, it refuses unsupported sizes."""
    monkeypatch.setattr(support, "_transposed", lambda node, source: None)
    module, x = nn.ConvTranspose2d(4, 4, 3, 3, 1, groups=2), torch.randn(1, 4, 6, 6)
    program = compiled(module, x, dynamic=({2: Dim("h", min=1, max=8)},))
    assert_equal(program(x), module(x))
    try:
        small = program(x[:, :, :1])
    except NotSupportedError as error:
        assert "1 x 16 results" in str(error)
    else:
        assert_equal(small, module(x[:, :, :1]))
    assert_equal(program(x), module(x))


def test_upsampling_transposed_convolutions_are_taken() -> None:
    for arguments in ((4, 2, 1), (3, 2, 1, 1), (2, 2), (3, 2, 1), (16, 8, 4)):
        module, x = nn.ConvTranspose2d(4, 6, *arguments), torch.randn(1, 4, 5, 7)
        assert_equal(compiled(module, x)(x), module(x))


BATCH = ({0: Dim("batch", max=6)},)
EMPTY_AND_NOT: dict[str, nn.Module] = {
    "add": _Function(lambda x: x + 1),
    "cat": _Function(lambda x: torch.cat([x, x * 2], 0)),
    "conv": nn.Conv2d(3, 4, 3, padding=1),
    "conv_pools": nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)),
    "pad": nn.ConstantPad2d((1, 3, 1, 0), 1.5),
    "permute": _Function(lambda x: x.permute(0, 2, 3, 1) * 2),
    "prelu": nn.PReLU(3),
    "softmax": nn.Softmax(-1),
    "transposed": nn.ConvTranspose2d(3, 4, 2, stride=2),
}


@pytest.mark.parametrize("name", EMPTY_AND_NOT)
def test_a_dynamic_batch_may_be_empty(name: str) -> None:
    module, x = EMPTY_AND_NOT[name], torch.randn(2, 3, 6, 5)
    program = compiled(module, x, dynamic=BATCH)
    for size in (2, 0, 6, 1, 0, 3):
        batch = torch.randn(size, 3, 6, 5)
        assert_equal(program(batch), module(batch))


def test_an_empty_batch_of_half_precision() -> None:
    module, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).half(), torch.randn(2, 3, 6, 5).half()
    program = compiled(module, x, dynamic=BATCH)
    assert program(x[:0]).shape == (0, 4, 4, 3)
    torch.testing.assert_close(program(x), module(x), rtol=1e-2, atol=1e-2)


EMPTY_INPUTS: dict[str, Any] = {
    "pad": lambda x: F.pad(x, (0, 0, 2, 1), value=0.5),
    "max_dim": lambda x: x.max(3, keepdim=True)[0],
    "mean": lambda x: x.mean((2, 3), keepdim=True),
}


@pytest.mark.parametrize("name", EMPTY_INPUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_results_of_an_empty_picture(name: str, dtype: torch.dtype) -> None:
    module, x = _Function(EMPTY_INPUTS[name]), torch.randn(2, 3, 6, 5).to(dtype)
    program = compiled(module, x, dynamic=({2: Dim("height", max=8)},))
    for height in (0, 6, 0):
        torch.testing.assert_close(
            program(x[:, :, :height]), module(x[:, :, :height]), rtol=2e-3, atol=2e-3, equal_nan=True
        )


def test_products_over_nothing_are_zero() -> None:
    inner = Dim("inner", max=8)
    x, y = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    program = compiled(_Function(torch.bmm), x, y, dynamic=({2: inner}, {1: inner}))
    assert_equal(program(x[:, :, :0], y[:, :0]), torch.zeros(2, 3, 5))
    assert_equal(program(x, y), x @ y)


def test_a_part_of_a_concatenation_may_be_empty() -> None:
    x, y = torch.randn(3, 4), torch.randn(2, 4)
    module = _Function(lambda x, y: torch.cat([x * 2, y + 1]))
    program = compiled(module, x, y, dynamic=({0: Dim("n", max=5)}, {0: Dim("m", max=5)}))
    for n, m in ((3, 2), (0, 2), (3, 0), (0, 0)):
        assert_equal(program(x[:n], y[:m]), module(x[:n], y[:m]))


CHANNELS_LAST: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "conv": (nn.Conv2d(4, 8, 3, padding=1), (1, 4, 1, 1)),
    "conv_of_one_channel": (nn.Conv2d(1, 8, 3, padding=1), (2, 1, 5, 6)),
    "conv_to_one_channel": (nn.Conv2d(4, 1, 3), (2, 4, 5, 6)),
    "elementwise": (_Function(lambda x: x + 1), (3, 5, 1, 1)),
    "flatten": (nn.Sequential(nn.Conv2d(4, 8, 1), nn.Flatten(), nn.Linear(8, 3)), (2, 4, 1, 1)),
    "linear": (nn.Linear(1, 8), (3, 5, 1, 1)),
    "pixel_rows": (nn.Conv2d(4, 8, 1), (1, 4, 1, 7)),
    "pool": (nn.MaxPool2d(2), (1, 1, 4, 6)),
}


@pytest.mark.parametrize("name", CHANNELS_LAST)
def test_channels_last_inputs_of_sizes_that_make_the_layout_ambiguous(name: str) -> None:
    module, shape = CHANNELS_LAST[name]
    x = torch.randn(shape).to(memory_format=torch.channels_last)
    assert_equal(compiled(module, x)(x), module(x))
    assert_equal(compiled(module, x.contiguous())(x.contiguous()), module(x))


def test_a_picture_of_one_pixel_with_a_dynamic_batch() -> None:
    """A reshape changes its layout. The reshape must not contain the largest batch."""
    module = nn.Sequential(nn.Conv2d(4, 8, 1), nn.Linear(1, 3))
    x = torch.randn(3, 4, 1, 1)
    program = compiled(module, x, dynamic=({0: Dim("batch", min=1, max=6)},))
    for size in (1, 3, 6):
        batch = torch.randn(size, 4, 1, 1)
        assert_equal(program(batch), module(batch))


@pytest.mark.parametrize("dims", [{0}, {2}, {0, 2}])
def test_convolutions_over_lines_of_dynamic_sizes(dims: set[int]) -> None:
    module, x = nn.Conv1d(7, 21, 3, padding=1), torch.randn(3, 7, 8)
    bounds = {0: Dim("batch", min=1, max=6), 2: Dim("length", min=2, max=20)}
    dynamic = ({dim: bounds[dim] for dim in dims},)
    program = compiled(module, x, dynamic=dynamic, whole=len(dims) == 1)
    for batch in (1, 6) if 0 in dims else (3,):
        for length in (2, 20) if 2 in dims else (8,):
            line = torch.randn(batch, 7, length)
            assert_equal(program(line), module(line))


def test_a_maximum_with_two_dynamic_sizes() -> None:
    module, x = _Function(lambda x: x.max(2)[0]), torch.randn(3, 4, 5, 6)
    dynamic = ({0: Dim("batch", max=6), 1: Dim("channels", max=9)},)
    program = compiled(module, x, dynamic=dynamic, whole=False)
    for shape in ((6, 9), (1, 1), (0, 3)):
        image = torch.randn(*shape, 5, 6)
        assert_equal(program(image), module(image))


def test_an_input_beyond_its_bounds_is_refused() -> None:
    program = compiled(_Function(lambda x: x * 2), torch.randn(2, 3), dynamic=({0: Dim("n", max=4)},))
    with pytest.raises(RushlightError):
        program(torch.randn(5, 3))


def test_a_product_of_a_transposed_constant_on_the_left() -> None:
    class Products(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Parameter(torch.randn(3, 3))
            self.b = nn.Parameter(torch.randn(3, 3))

        def forward(self) -> tuple[torch.Tensor, torch.Tensor]:
            left = self.a.mT
            return left @ self.b, left @ left

    module = Products().eval()
    compiled = rushlight.compile(module, (), partitioner=[XnnpackPartitioner()])
    for result, expected in zip(rushlight.load(compiled)(), module(), strict=True):
        torch.testing.assert_close(torch.as_tensor(result), expected.detach())


def test_empty_tensors_that_only_change_their_dtype_stay_outside() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.empty = nn.Parameter(torch.randn(0, 1, dtype=torch.float16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.logaddexp(self.empty, x - x * x)

    x = torch.randn(16, dtype=torch.float16)
    program = to_edge_transform_and_lower(
        torch.export.export(Model(), (x,)), partitioner=[XnnpackPartitioner()]
    )
    assert rushlight.load(bytes(program.to_executorch().buffer))(x).shape == (0, 16)


def test_empty_tensors_are_not_quantized_in_a_delegate() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 1, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(x)[..., :1, 1:1]

    x = torch.randn(1, 1, 4, 4)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    program = quantize(torch.export.export(Model(), (x,)), None, quantizer, [(x,)])
    result = rushlight.load(rushlight.compile(program, partitioner=[XnnpackPartitioner()]))(x)
    assert result.shape == (1, 1, 1, 0)


def test_the_layout_of_a_size_that_is_rounded_adds_no_guard_to_the_program() -> None:
    class Correlation(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = nn.ConvTranspose2d(2, 2, 4, groups=2, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.up(x)
            return F.conv2d(y, F.avg_pool2d(y, 2), padding=1)

    sizes = {0: Dim("b", min=1, max=6), 2: Dim("t", min=1, max=9)}
    module = Correlation().eval()
    program = torch.export.export(module, (torch.randn(3, 2, 5, 8),), dynamic_shapes=(sizes,), strict=False)
    rushlight.compile(program, partitioner=())  # a later compilation works on the same symbols
    loaded = rushlight.load(rushlight.compile(program, partitioner=[XnnpackPartitioner()]).buffer)
    for x in (torch.randn(1, 2, 1, 8), torch.randn(6, 2, 9, 8)):
        assert_equal(loaded(x), module(x))
