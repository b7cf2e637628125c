"""Observers for weights in groups along their rows. Each group has its own scale."""

from __future__ import annotations

import operator

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import AffineQuantizedObserverBase, MappingType, PerGroup
from torchao.quantization.pt2e.utils import create_getattr_from_value

from rushlight.ir import meta
from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.gptq import round_by_inputs
from rushlight.quantize.observers import INT8_TENSOR, Checked, check_specification
from rushlight.quantize.prior import expected_gram_matrix
from rushlight.quantize.scales import group_for, quantize_groups

qd = torch.ops.quantized_decomposed


class _GramMatrixSum(AffineQuantizedObserverBase):  # type: ignore[misc]
    """Sums x^T x over the vectors x of the last dimension. The sum is the Gram matrix."""

    def __init__(self, **specification: object) -> None:
        check_specification(self, specification, **INT8_TENSOR)
        super().__init__(MappingType.SYMMETRIC, torch.int8, PerGroup(1), -8, 7)
        self.gram: torch.Tensor | None = None

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        rows = input.detach().reshape(-1, input.shape[-1]).to(torch.float32)
        found = rows.T @ rows
        self.gram = found if self.gram is None else self.gram + found
        return input

    def absorb(self, other: _GramMatrixSum) -> None:
        """Adds the sum of another observer."""
        if other.gram is not None:
            self.gram = other.gram if self.gram is None else self.gram + other.gram

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        raise QuantizationError("inputs that stay float have no quantization parameters")

    def convert(self, model: GraphModule, observer_node: Node) -> None:
        """Passes the Gram matrix to the operators that read the tensor; the tensor stays float."""
        if self.gram is None:
            place = getattr(self, "place", "") or "an input"
            raise QuantizationError(
                f"calibration: no data was seen at {place}; GPTQ (by_inputs=True) needs data"
            )
        for user in observer_node.users:
            meta.set_input_gram_matrix(user, self.gram)
        source = observer_node.args[0]
        assert isinstance(source, Node)
        observer_node.replace_all_uses_with(source)
        model.graph.erase_node(observer_node)


class GramMatrixObserver(Checked, _GramMatrixSum):
    """Observes the inputs of a layer whose weights are rounded with GPTQ. The inputs stay float."""


class GroupWeightObserver(AffineQuantizedObserverBase):  # type: ignore[misc]
    """Quantizes weights in groups along their last dimension, symmetrically, with one scale for each group.

    The scale of a group minimizes its squared error. If a `GramMatrixObserver` observes the inputs of the
    layer, or a normalization layer computes them, the weights are rounded with GPTQ. The converted graph has
    stored integers and `quantized_decomposed.dequantize_per_channel_group`.
    """

    def __init__(
        self, group_size: int = 32, quant_min: int = -8, quant_max: int = 7, **specification: object
    ) -> None:
        check_specification(
            self,
            specification,
            dtype=torch.int8,
            qscheme=torch.per_channel_symmetric,
            ch_axis=0,
            is_dynamic=False,
        )
        super().__init__(MappingType.SYMMETRIC, torch.int8, PerGroup(group_size), quant_min, quant_max)
        self.group_size = group_size

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Returns the weight unchanged."""
        return input

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Raises QuantizationError: the parameters are computed when the model is converted."""
        raise QuantizationError(
            "the parameters of a weight in groups are computed when the model is converted"
        )

    def convert(self, model: GraphModule, observer_node: Node) -> None:
        """Replaces the observer by stored integers and their dequantization."""
        source = observer_node.args[0]
        assert isinstance(source, Node)
        if source.op != "get_attr":
            raise QuantizationError(
                f"{source.name} is not a stored weight, and only stored weights are quantized in groups"
            )
        weight = operator.attrgetter(str(source.target))(model).detach()
        group = group_for(self.group_size, weight.shape[-1])
        gram = _gram_matrix(model, observer_node, weight.shape[-1])
        if gram is None:
            q, scales = quantize_groups(weight, group, self.quant_min, self.quant_max)
        else:
            q, scales = round_by_inputs(weight, gram, group, self.quant_min, self.quant_max)
        graph = model.graph
        with graph.inserting_before(observer_node):
            stored = [
                create_getattr_from_value(model, graph, name, value, value.device)
                for name, value in (
                    ("_group_weight", q),
                    ("_group_scales", scales),
                    ("_group_zero_points", torch.zeros_like(scales, dtype=torch.int32)),
                )
            ]
            real = graph.call_function(
                qd.dequantize_per_channel_group.default,
                (*stored, self.quant_min, self.quant_max, torch.int8, group, weight.dtype),
            )
        meta.add_all(observer_node, real)
        observer_node.replace_all_uses_with(real)
        graph.erase_node(observer_node)
        if not source.users:
            graph.erase_node(source)


def _gram_matrix(model: GraphModule, weight: Node, width: int) -> torch.Tensor | None:
    """The Gram matrix of the inputs of the operator that reads an observed weight.

    None if several operators read the weight, or if nothing is known about the inputs.
    """
    users = list(weight.users)
    if len(users) != 1:
        return None
    found = meta.get_input_gram_matrix(users[0])
    source = users[0].args[0]
    if isinstance(source, Node) and source.op == "call_module":
        observer = model.get_submodule(str(source.target))
        if isinstance(observer, GramMatrixObserver):
            return observer.gram
    if found is None and users[0].target is torch.ops.aten.linear.default:
        return expected_gram_matrix(model, source, width)
    return found
