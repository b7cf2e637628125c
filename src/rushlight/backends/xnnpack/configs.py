"""Classes for XNNPACK's operators, which `XnnpackPartitioner(configs=[...])` accepts.

The names are those of ExecuTorch's classes. `support.py` contains the conditions that a node must fulfil.
"""

from __future__ import annotations

from typing import ClassVar

from rushlight.backends.xnnpack.nodes import ConfigPrecisionType

_FLOAT = (ConfigPrecisionType.FP32,)
_STATIC = (ConfigPrecisionType.STATIC_QUANT,)
_FLOAT_AND_STATIC = (*_FLOAT, *_STATIC)
_ALL = (*_FLOAT_AND_STATIC, ConfigPrecisionType.DYNAMIC_QUANT)


class XNNPartitionerConfig:
    """An operator of XNNPACK.

    Attributes:
        target_name: the operator's name without library, such as `linear.default`.
        precisions: the precisions that the backend supports for the operator.
    """

    target_name: ClassVar[str]
    precisions: ClassVar[tuple[ConfigPrecisionType, ...]] = _FLOAT

    @classmethod
    def supported_precision_types(cls) -> list[ConfigPrecisionType]:
        """Returns the precisions that the backend supports for the operator."""
        return list(cls.precisions)


class GenericNodePartitionerConfig(XNNPartitionerConfig):
    """An operator without weights."""


class GEMMConfig(XNNPartitionerConfig):
    """A product of activations and weights, which may have a bias."""


ALL_PARTITIONER_CONFIGS: list[type[XNNPartitionerConfig]] = []
"""The classes of all operators."""


def _config(
    name: str,
    target: str,
    precisions: tuple[ConfigPrecisionType, ...] = _FLOAT,
    base: type[XNNPartitionerConfig] = GenericNodePartitionerConfig,
) -> type[XNNPartitionerConfig]:
    members = {"target_name": target, "precisions": precisions, "__module__": __name__}
    found = type(name, (base,), {**members, "__doc__": f"The operator `{target}`."})
    ALL_PARTITIONER_CONFIGS.append(found)
    return found


AbsConfig = _config("AbsConfig", "abs.default")
AddConfig = _config("AddConfig", "add.Tensor", _FLOAT_AND_STATIC)
AddmmConfig = _config("AddmmConfig", "addmm.default", _ALL, GEMMConfig)
AvgPoolingConfig = _config("AvgPoolingConfig", "avg_pool2d.default")
BMMConfig = _config("BMMConfig", "bmm.default")
BatchNormConfig = _config(
    "BatchNormConfig", "_native_batch_norm_legit_no_training.default", base=XNNPartitionerConfig
)
CatConfig = _config("CatConfig", "cat.default", _FLOAT_AND_STATIC)
CeilConfig = _config("CeilConfig", "ceil.default")
ClampConfig = _config("ClampConfig", "clamp.default", _FLOAT_AND_STATIC)
CloneConfig = _config("CloneConfig", "clone.default", _FLOAT_AND_STATIC)
CloneDimOrderConfig = _config("CloneDimOrderConfig", "_clone_dim_order.default", _FLOAT_AND_STATIC)
ConstantPadConfig = _config("ConstantPadConfig", "constant_pad_nd.default")
ConvolutionConfig = _config("ConvolutionConfig", "convolution.default", _ALL, GEMMConfig)
CosConfig = _config("CosConfig", "cos.default")
DeQuantizedPerTensorConfig = _config("DeQuantizedPerTensorConfig", "dequantize_per_tensor.default", _STATIC)
DivConfig = _config("DivConfig", "div.Tensor")
EluConfig = _config("EluConfig", "elu.default")
ExpConfig = _config("ExpConfig", "exp.default")
FloorConfig = _config("FloorConfig", "floor.default")
GeluConfig = _config("GeluConfig", "gelu.default")
HardswishConfig = _config("HardswishConfig", "hardswish.default")
HardtanhConfig = _config("HardtanhConfig", "hardtanh.default", _FLOAT_AND_STATIC)
LeakyReLUConfig = _config("LeakyReLUConfig", "leaky_relu.default")
LinearConfig = _config("LinearConfig", "linear.default", _ALL, GEMMConfig)
LogConfig = _config("LogConfig", "log.default")
MMConfig = _config("MMConfig", "mm.default", _ALL, AddmmConfig)
MaxDimConfig = _config("MaxDimConfig", "max.dim", base=XNNPartitionerConfig)
MaxPool2dConfig = _config("MaxPool2dConfig", "max_pool2d.default", _FLOAT_AND_STATIC)
MaximumConfig = _config("MaximumConfig", "maximum.default")
MeanDimConfig = _config("MeanDimConfig", "mean.dim", _FLOAT_AND_STATIC)
MinimumConfig = _config("MinimumConfig", "minimum.default")
MulConfig = _config("MulConfig", "mul.Tensor", _FLOAT_AND_STATIC)
NegConfig = _config("NegConfig", "neg.default")
PermuteConfig = _config("PermuteConfig", "permute_copy.default", _FLOAT_AND_STATIC)
PowConfig = _config("PowConfig", "pow.Tensor_Scalar")
PreluConfig = _config("PreluConfig", "prelu.default", base=XNNPartitionerConfig)
QuantizedPerTensorConfig = _config("QuantizedPerTensorConfig", "quantize_per_tensor.default", _STATIC)
ReLUConfig = _config("ReLUConfig", "relu.default", _FLOAT_AND_STATIC)
ReciprocalSquareRootConfig = _config("ReciprocalSquareRootConfig", "rsqrt.default")
SigmoidConfig = _config("SigmoidConfig", "sigmoid.default")
SinConfig = _config("SinConfig", "sin.default")
SliceCopyConfig = _config("SliceCopyConfig", "slice_copy.Tensor", _FLOAT_AND_STATIC)
SoftmaxConfig = _config("SoftmaxConfig", "_softmax.default")
SquareRootConfig = _config("SquareRootConfig", "sqrt.default")
SubConfig = _config("SubConfig", "sub.Tensor", _FLOAT_AND_STATIC)
TanhConfig = _config("TanhConfig", "tanh.default")
ToDimOrderCopyConfig = _config("ToDimOrderCopyConfig", "_to_dim_order_copy.default", _FLOAT_AND_STATIC)
UnsqueezeCopyConfig = _config("UnsqueezeCopyConfig", "unsqueeze_copy.default", _FLOAT_AND_STATIC)
UpsampleBilinear2dConfig = _config("UpsampleBilinear2dConfig", "upsample_bilinear2d.vec")
ViewCopyConfig = _config("ViewCopyConfig", "view_copy.default", _FLOAT_AND_STATIC)
