"""References: results in float64, and their sensitivity to rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from tests.torture.eager import plain_control_flow
from tests.torture.model import Model, leaves
from torch._decomp import get_decompositions
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

LOW = (torch.float32, torch.float16, torch.bfloat16)
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "convolution", "_scaled_dot_product_flash_attention_for_cpu"}
MOVES = {
    "clone",
    "copy_",
    "_to_copy",
    "index_select",
    "gather",
    "cat",
    "stack",
    "zero_",
    "fill_",
    "lift_fresh",
}
_aten = torch.ops.aten
STAGES = get_decompositions(
    [_aten.native_group_norm.default, _aten.native_layer_norm.default, _aten.native_batch_norm.default]
)
"""Operators that are decomposed, with noise in each part. They amplify rounding errors of equal numbers."""
ROUNDED = (_aten.div.Tensor_mode, _aten.div.Scalar_mode, _aten.floor_divide.default)
"""Rounded quotients.

Noise is added before rounding, because it matters if the quotient is nearly an integer.
"""
RUNS = 8

Outputs = list[list[Any]]
"""The leaves of the outputs of each call."""


class Reference(Protocol):
    """The reference for results that differ from eager PyTorch.

    uniform: noise in any value may change every result, so that the largest spread is the tolerance of all.
    """

    uniform: bool

    def plain(self, call: int) -> list[Any]:
        """Returns the leaves of the outputs of a call, computed with the highest precision."""
        ...

    def disturbed(self, call: int, products: float) -> list[list[Any]]:
        """Returns the leaves of several runs with noise.

        `products` is the noise of products, relative to the largest result.
        """
        ...


class Disturbed(TorchDispatchMode):
    """Multiplies each float64 result by 1 + noise, and changes some quantized values by one.

    Args:
        relative: the size of the noise.
        absolute: the size of additional noise, relative to the largest result.
        products: the same for matrix products and convolutions.
        steps: the share of quantized values that change by one.
        double: compute in float64, even if the program has other dtypes.
    """

    def __init__(
        self,
        relative: float = 0.0,
        absolute: float = 0.0,
        products: float = 0.0,
        steps: float = 0.0,
        double: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.relative, self.absolute, self.products = relative, absolute, products
        self.steps, self.double = steps, double
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if self.double:
            args, kwargs = pytree.tree_map(_double_dtype, (args, kwargs))
        if func in STAGES and self.relative:
            with self:
                return STAGES[func](*args, **kwargs)
        if func in ROUNDED and self.relative and any(_is_real(arg) for arg in args[:2]):
            mode = "floor" if func is _aten.floor_divide.default else kwargs.pop("rounding_mode", None)
            with self:
                quotient = torch.true_divide(*args[:2])
            if mode is not None:
                return torch.floor(quotient) if mode == "floor" else torch.trunc(quotient)
            return quotient
        result = func(*args, **kwargs)
        returns = func._schema.returns
        name = func._schema.name.split("::")[1]
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        for i, out in enumerate(outputs):
            alias = returns[min(i, len(returns) - 1)].alias_info if returns else None
            if isinstance(out, torch.Tensor) and out.numel() and (alias is None or alias.is_write):
                self._disturb(out, name)
        return result

    def _disturb(self, out: torch.Tensor, name: str) -> None:
        if name.startswith("quantize_") and self.steps:
            moved = torch.rand(out.shape, generator=self.generator) < self.steps
            step = torch.randint(0, 2, out.shape, generator=self.generator) * 2 - 1
            bounds = torch.iinfo(out.dtype)
            out.copy_((out.long() + moved * step).clamp(bounds.min, bounds.max))
        if out.is_complex() and not out.is_conj():
            out = torch.view_as_real(out)
        if not out.is_floating_point() or name in MOVES or name.startswith("dequantize_"):
            return
        absolute = max(self.absolute, self.products if name in PRODUCTS else 0.0)
        if self.relative:
            out.mul_((1 + self.relative * self._noise(out)).to(out.dtype))
        if absolute:
            finite = out[torch.isfinite(out)]
            if finite.numel():
                out.add_((absolute * finite.abs().max() * self._noise(out)).to(out.dtype))

    def _noise(self, like: torch.Tensor) -> torch.Tensor:
        return torch.rand(like.shape, dtype=torch.float64, generator=self.generator) * 2 - 1


def _double_dtype(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value in LOW else value


def _is_real(value: Any) -> bool:
    return value.is_floating_point() if isinstance(value, torch.Tensor) else isinstance(value, float)


def _outputs(model: Model, module: Callable[..., Any], mode: Disturbed) -> Outputs:
    found = []
    before = torch.get_default_dtype()
    with torch.no_grad():
        for call in range(len(model.case.calls)):
            arguments = model.arguments(call)
            if mode.double:
                arguments = pytree.tree_map(_double, arguments)
                torch.set_default_dtype(torch.float64)
            try:
                with plain_control_flow(), mode:
                    result = module(*arguments)
            finally:
                torch.set_default_dtype(before)
            found.append(
                [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves(result)]
            )
    return found


def _double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.dtype in LOW else value


def precision(model: Model) -> float:
    """Returns the unit roundoff of the least precise float dtype in a case."""
    case = model.case
    parts = [s.template for s in case.statements] + [i.dtype for i in case.inputs]
    text = " ".join(parts + [m.expression for m in case.members])
    if "bfloat16" in text:
        return 2.0**-9
    return 2.0**-12 if "float16" in text or "half" in text else 2.0**-24


class FloatReference:
    """Runs the module in float64."""

    uniform = False

    def __init__(self, model: Model) -> None:
        self._model = model
        self._plain: Outputs = []
        self._disturbed: dict[float, list[Outputs]] = {}

    def plain(self, call: int) -> list[Any]:
        if not self._plain:
            self._plain = _outputs(self._model, self._model.module().double(), Disturbed())
        return self._plain[call]

    def disturbed(self, call: int, products: float) -> list[list[Any]]:
        if products not in self._disturbed:
            unit = 4 * precision(self._model)
            self._disturbed[products] = [
                _outputs(
                    self._model,
                    self._model.module().double(),
                    Disturbed(unit, unit * (seed % 2), products, seed=seed),
                )
                for seed in range(RUNS)
            ]
        return [run[call] for run in self._disturbed[products]]


class QuantizedReference:
    """Runs the quantized program in torch. Noise changes one in ten quantized values by one."""

    uniform = True

    def __init__(self, model: Model, program: ExportedProgram) -> None:
        self._model, self._program = model, program
        self._plain: Outputs = []
        self._disturbed: list[Outputs] = []

    def plain(self, call: int) -> list[Any]:
        if not self._plain:
            self._plain = _outputs(self._model, self._program.module(), Disturbed(double=False))
        return self._plain[call]

    def disturbed(self, call: int, products: float) -> list[list[Any]]:
        if not self._disturbed:
            self._disturbed = [
                _outputs(
                    self._model,
                    self._program.module(),
                    Disturbed(1e-6, products=products, steps=0.1, double=False, seed=seed),
                )
                for seed in range(RUNS)
            ]
        return [run[call] for run in self._disturbed]
