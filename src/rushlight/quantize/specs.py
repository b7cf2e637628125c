"""Quantization configurations, which consist of torchao's `QuantizationSpec`.

A `QuantizationConfig` states how the input, the output, the weight and the bias of an operator are quantized;
None means float. All weights are symmetric.
"""

from __future__ import annotations

import dataclasses
import functools

import torch
from torchao.quantization.pt2e import (
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PlaceholderObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationConfig, QuantizationSpec

from rushlight.quantize.groups import GramMatrixObserver, GroupWeightObserver
from rushlight.quantize.observers import (
    CheckedFakeQuantize,
    CheckedHistogramObserver,
    CheckedMinMaxObserver,
    CheckedMovingFakeQuantize,
    CheckedPerChannelFakeQuantize,
    CheckedPerChannelMinMaxObserver,
    CheckedPerChannelMovingFakeQuantize,
    CheckedTorchaoHistogramObserver,
    PerTokenObserver,
    SmallSumsPerChannelMinMaxObserver,
)

EPS = 2.0**-12
"""The smallest scale of observed activations."""

WEIGHT_EPS = 2.0**-40
"""The smallest scale of weights."""


def activation(*, bits: int = 8, qat: bool = False, low: int = -128, high: int = 127) -> QuantizationSpec:
    """Returns the specification of activations: one scale for each tensor, from calibration or training.

    Args:
        bits: 8 for affine int8, 16 for symmetric int16.
        qat: for quantization-aware training.
        low: the smallest integer.
        high: the largest integer.
    """
    if bits == 16:
        return QuantizationSpec(
            dtype=torch.int16,
            quant_min=-32767,
            quant_max=32767,
            qscheme=torch.per_tensor_symmetric,
            observer_or_fake_quant_ctr=CheckedMovingFakeQuantize.with_args(
                eps=2.0**-24, observer=MovingAverageMinMaxObserver
            )
            if qat
            else CheckedMinMaxObserver.with_args(eps=2.0**-24),
        )
    if bits != 8:
        raise ValueError(f"quantized activations have 8 or 16 bits, not {bits}")
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        qscheme=torch.per_tensor_affine,
        observer_or_fake_quant_ctr=(CheckedMovingFakeQuantize if qat else CheckedHistogramObserver).with_args(
            eps=EPS
        ),
    )


def dynamic_activation(
    *, per_token: bool = False, qat: bool = False, low: int = -128, high: int = 127
) -> QuantizationSpec:
    """Returns the specification of affine int8 activations. Their ranges are computed at run time.

    Args:
        per_token: one range for each vector along the last dimension, instead of one for the tensor.
        qat: for quantization-aware training.
        low: the smallest integer.
        high: the largest integer.
    """
    constructor: object
    if per_token:
        constructor = PerTokenObserver.with_args()
    elif qat:
        observer = MovingAverageMinMaxObserver.with_args(averaging_constant=1)
        constructor = CheckedFakeQuantize.with_args(eps=EPS, observer=observer)
    else:
        constructor = PlaceholderObserver.with_args(eps=EPS)
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        qscheme=torch.per_tensor_affine,
        # If is_dynamic is true, pt2e requires choose_qparams.tensor in the converted graph.
        is_dynamic=not per_token,
        observer_or_fake_quant_ctr=constructor,
    )


def weight(
    *,
    bits: int = 8,
    per_channel: bool = True,
    group_size: int | None = None,
    qat: bool = False,
    low: int | None = None,
    high: int | None = None,
    small_sums: bool = False,
    min_scale: float = WEIGHT_EPS,
) -> QuantizationSpec:
    """Returns the specification of weights: 8-bit or 4-bit integers, stored as int8.

    Args:
        bits: 8 or 4.
        per_channel: one scale for each output channel instead of one for the tensor.
        group_size: the number of weights along the input that share a scale, or None.
        qat: for quantization-aware training.
        low: the smallest integer, or None for the default.
        high: the largest integer, or None for the default.
        small_sums: choose the scale of each channel with `SmallSumsPerChannelMinMaxObserver`, which limits
            the sums of neighbouring weights.
        min_scale: the smallest scale.
    """
    if bits not in (4, 8):
        raise ValueError(f"quantized weights have 4 or 8 bits, not {bits}")
    low = low if low is not None else (-127 if bits == 8 else -8)
    high = high if high is not None else (127 if bits == 8 else 7)
    if group_size is not None:
        if not isinstance(group_size, int) or group_size < 1:
            raise ValueError(f"group_size must be a positive integer, not {group_size!r}")
        if qat:
            raise ValueError(
                "quantization-aware training does not support weights in groups; use per_channel without a "
                "group_size"
            )
        constructor = GroupWeightObserver.with_args(group_size=group_size)
    elif qat:
        moving = MovingAveragePerChannelMinMaxObserver if per_channel else MovingAverageMinMaxObserver
        constructor = (
            CheckedPerChannelMovingFakeQuantize if per_channel else CheckedMovingFakeQuantize
        ).with_args(eps=min_scale, observer=moving)
    else:
        channels = SmallSumsPerChannelMinMaxObserver if small_sums else CheckedPerChannelMinMaxObserver
        observer = channels if per_channel else CheckedMinMaxObserver
        constructor = observer.with_args(eps=min_scale)
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        qscheme=torch.per_channel_symmetric if per_channel else torch.per_tensor_symmetric,
        ch_axis=0 if per_channel else None,
        observer_or_fake_quant_ctr=constructor,
    )


@functools.cache
def static_int8(*, per_channel: bool = True, qat: bool = False) -> QuantizationConfig:
    """Returns the configuration of int8 activations, with ranges from calibration data, and int8 weights.

    Args:
        per_channel: one scale for each output channel of a weight.
        qat: for quantization-aware training.
    """
    act = activation(qat=qat)
    return QuantizationConfig(act, act, weight(per_channel=per_channel, qat=qat, small_sums=True), None, qat)


@functools.cache
def static_int16(*, per_channel: bool = True, qat: bool = False) -> QuantizationConfig:
    """Returns the configuration of int16 activations, with ranges from calibration data, and int8 weights.

    Args:
        per_channel: one scale for each output channel of a weight.
        qat: for quantization-aware training.
    """
    act = activation(bits=16, qat=qat)
    return QuantizationConfig(act, act, weight(per_channel=per_channel, qat=qat), None, qat)


@functools.cache
def dynamic_int8(
    *, per_token: bool = False, per_channel: bool = True, qat: bool = False
) -> QuantizationConfig:
    """Returns the configuration of int8 inputs, with ranges computed at run time, int8 weights and float
    outputs.

    Args:
        per_token: one range for each vector along the last dimension, instead of one for the tensor.
        per_channel: one scale for each output channel of a weight.
        qat: for quantization-aware training.
    """
    act = dynamic_activation(per_token=per_token, qat=qat)
    return QuantizationConfig(act, None, weight(per_channel=per_channel, qat=qat, small_sums=True), None, qat)


@functools.cache
def dynamic_int8_weight_int4(*, group_size: int = 32) -> QuantizationConfig:
    """Returns the configuration of int8 inputs, with one range for each token, and 4-bit weights in groups.

    The ranges of inputs are computed at run time. Outputs are float.

    Args:
        group_size: the number of weights along the input that share a scale.
    """
    return QuantizationConfig(
        dynamic_activation(per_token=True), None, weight(bits=4, group_size=group_size), None, False
    )


@functools.cache
def weight_only_int8(*, group_size: int | None = None) -> QuantizationConfig:
    """Returns the configuration of float activations and int8 weights.

    Args:
        group_size: the number of weights along the input that share a scale; None means one scale for each
            output channel.
    """
    return QuantizationConfig(
        None, None, weight(group_size=group_size, low=-127 if group_size is None else -128), None, False
    )


@functools.cache
def weight_only_int4(*, group_size: int = 32, by_inputs: bool = False) -> QuantizationConfig:
    """Returns the configuration of float activations and 4-bit weights in groups.

    Args:
        group_size: the number of weights along the input that share a scale.
        by_inputs: round the weights with GPTQ, which minimizes the error of the layer's outputs on the
            calibration data.
    """
    observed = _gram_matrix() if by_inputs else None
    return QuantizationConfig(observed, None, weight(bits=4, group_size=group_size), None, False)


def _gram_matrix() -> QuantizationSpec:
    """The specification of an input that stays float, but has a `GramMatrixObserver`.

    Nothing uses the dtype and the range.
    """
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=-128,
        quant_max=127,
        qscheme=torch.per_tensor_affine,
        observer_or_fake_quant_ctr=GramMatrixObserver.with_args(),
    )


def is_dynamic(config: QuantizationConfig) -> bool:
    """Returns whether the ranges of inputs are computed at run time.

    Args:
        config: the configuration of an operator.

    Returns:
        False if the ranges are constants, or if activations stay float.
    """
    spec = config.input_activation
    return spec is not None and (bool(spec.is_dynamic) or _class_of(spec) is PerTokenObserver)


def mode(config: QuantizationConfig) -> str:
    """Returns where the ranges of activations come from.

    Args:
        config: the configuration of an operator.

    Returns:
        "static" (from calibration data), "dynamic" (computed at run time) or "weight-only" (there are no
        ranges, because activations stay float).
    """
    return "dynamic" if is_dynamic(config) else "weight-only" if is_weight_only(config) else "static"


def is_grouped(spec: QuantizationSpec) -> bool:
    """Returns whether weights have one scale for each group along the input.

    Args:
        spec: the specification of a weight.

    Returns:
        True for such a specification; False for one scale per tensor or per channel.
    """
    return _class_of(spec) is GroupWeightObserver


def without_sums(spec: QuantizationSpec) -> QuantizationSpec:
    """Returns the specification for the weight of an embedding.

    An embedding only reads rows of its weight. It therefore needs no limit on the sums of weights.

    Args:
        spec: the specification of a weight.

    Returns:
        The specification without `SmallSumsPerChannelMinMaxObserver`; the given one if it has another
        observer.
    """
    if _class_of(spec) is not SmallSumsPerChannelMinMaxObserver:
        return spec
    constructor = CheckedPerChannelMinMaxObserver.with_args(eps=WEIGHT_EPS)
    return dataclasses.replace(spec, observer_or_fake_quant_ctr=constructor)


def on_axis(spec: QuantizationSpec, axis: int) -> QuantizationSpec:
    """Returns the specification with its channels along `axis`.

    Args:
        spec: the specification of a weight.
        axis: the dimension of the weight that its channels index.

    Returns:
        The new specification; the given one if it has no channels or has them along `axis` already.
    """
    if spec.ch_axis in (None, axis):
        return spec
    constructor = spec.observer_or_fake_quant_ctr
    if _class_of(spec) is CheckedPerChannelMovingFakeQuantize:
        constructor = CheckedPerChannelFakeQuantize.with_args(
            eps=WEIGHT_EPS, observer=MovingAveragePerChannelMinMaxObserver
        )
    return dataclasses.replace(spec, ch_axis=axis, observer_or_fake_quant_ctr=constructor)


def _class_of(spec: QuantizationSpec) -> object:
    return getattr(getattr(spec.observer_or_fake_quant_ctr, "p", None), "func", None)


def is_weight_only(config: QuantizationConfig) -> bool:
    """Returns whether activations stay float.

    Args:
        config: the configuration of an operator.

    Returns:
        True if only weights are quantized.
    """
    spec = config.input_activation
    return spec is None or _class_of(spec) is GramMatrixObserver


def get_symmetric_quantization_config(
    is_per_channel: bool = False,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
) -> QuantizationConfig:
    """Returns a configuration for `XNNPACKQuantizer`: symmetric weights and affine activations.

    The arguments are those of ExecuTorch's function with the same name.

    Args:
        is_per_channel: one scale for each output channel of a weight.
        is_qat: for quantization-aware training.
        is_dynamic: compute the ranges of activations at run time.
        act_qmin: the smallest integer of activations.
        act_qmax: the largest integer of activations.
        weight_qmin: the smallest integer of weights.
        weight_qmax: the largest integer of weights.
    """
    return _symmetric(is_per_channel, is_qat, is_dynamic, act_qmin, act_qmax, weight_qmin, weight_qmax)


@functools.cache
def _symmetric(
    is_per_channel: bool,
    is_qat: bool,
    is_dynamic: bool,
    act_qmin: int,
    act_qmax: int,
    weight_qmin: int,
    weight_qmax: int,
) -> QuantizationConfig:
    """Caches the configurations. The cache needs positional arguments, so that equal settings have one key.

    The observers are those of torchao with ExecuTorch's settings, so that the quantized numbers are equal.
    """
    if is_dynamic:
        observed: object = dynamic_activation(qat=is_qat, low=act_qmin, high=act_qmax)
    else:
        act = activation(qat=is_qat, low=act_qmin, high=act_qmax)
        constructor = (
            act.observer_or_fake_quant_ctr if is_qat else CheckedTorchaoHistogramObserver.with_args(eps=EPS)
        )
        observed = dataclasses.replace(act, observer_or_fake_quant_ctr=constructor)
    weights = weight(per_channel=is_per_channel, qat=is_qat, low=weight_qmin, high=weight_qmax, min_scale=EPS)
    return QuantizationConfig(observed, None if is_dynamic else observed, weights, None, is_qat)
