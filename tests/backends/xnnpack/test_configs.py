"""The configuration classes of operators: each belongs to an operator of the backend, and selects it."""

from __future__ import annotations

import torch
from torch import nn

from rushlight.backends.xnnpack import ConfigPrecisionType, XnnpackPartitioner
from rushlight.backends.xnnpack.configs import (
    ALL_PARTITIONER_CONFIGS,
    AddConfig,
    AddmmConfig,
    ConvolutionConfig,
    GEMMConfig,
    GenericNodePartitionerConfig,
    LinearConfig,
    MaxDimConfig,
    MMConfig,
    ReLUConfig,
)
from rushlight.backends.xnnpack.support import CHECKS
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower


def test_every_class_is_an_operator() -> None:
    known = {str(op).partition(".")[2] for op in CHECKS}
    for config in ALL_PARTITIONER_CONFIGS:
        is_conversion = config.supported_precision_types() == [ConfigPrecisionType.STATIC_QUANT]
        assert is_conversion or config.target_name in known, config
    assert ConfigPrecisionType.DYNAMIC_QUANT in LinearConfig.supported_precision_types()
    assert len({config.target_name for config in ALL_PARTITIONER_CONFIGS}) == len(ALL_PARTITIONER_CONFIGS)


def test_products_have_a_base_class() -> None:
    products = [config for config in ALL_PARTITIONER_CONFIGS if issubclass(config, GEMMConfig)]
    assert products == [AddmmConfig, ConvolutionConfig, LinearConfig, MMConfig]
    assert issubclass(MMConfig, AddmmConfig) and issubclass(AddConfig, GenericNodePartitionerConfig)
    assert not issubclass(MaxDimConfig, GenericNodePartitionerConfig)


def test_classes_select_operators() -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.ReLU()).eval(), (torch.randn(2, 4),)
    exported = torch.export.export(model, x)
    for configs, left in (
        ([LinearConfig], {"tanh", "relu"}),
        ([LinearConfig, ReLUConfig], {"tanh"}),
        ([AddConfig, ConvolutionConfig], {"addmm", "permute_copy", "tanh", "relu"}),
        (ALL_PARTITIONER_CONFIGS, set()),
    ):
        edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner(configs=configs)])
        nodes = get_non_lowered_nodes(edge.exported_program().graph)
        assert {str(node.target).split(".")[1] for node in nodes} == left
