"""Models that must run in both runtimes. Weights and inputs are the same in every process."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

# Sends one request to the other environment. An error there fails the test.
Ask = Callable[[dict[str, str]], None]

NAMES = ("add", "digits", "mobilenet_v2", "resnet18", "bert")
LANGUAGE = ("cached_attention", "quantized_attention", "delta_rule")  # with operators of language models
HALF = ("mobilenet_v2", "block", "perceptron")  # also in float16, as <name>_half


class Add(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class Digits(nn.Module):
    """The network of examples/digits. Its file is not imported, because it needs scikit-learn."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for channels_in, channels_out, pool in ((1, 16, False), (16, 32, True), (32, 32, True)):
            layers += [
                nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels_out),
            ]
            layers += [nn.ReLU()] + [nn.MaxPool2d(2)] * pool
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(128, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classifier(torch.flatten(self.features(images), 1))


class CachedAttention(nn.Module):
    """Attention of three tokens, with operators of `llama` and caches of 16 positions.

    The caches have no initial values in ExecuTorch's programs, so that only written positions are read.
    """

    def __init__(self) -> None:
        super().__init__()
        register_language_operators()
        self.query, self.key, self.value = (nn.Linear(32, size) for size in (32, 16, 16))
        self.register_buffer("keys", torch.randn(1, 16, 2, 8))
        self.register_buffer("values", torch.randn(1, 16, 2, 8))

    def forward(self, x: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        llama = torch.ops.llama
        query = self.query(x).view(1, 3, 4, 8)
        key, value = (layer(x).view(1, 3, 2, 8) for layer in (self.key, self.value))
        llama.update_cache(key, self.keys, 0)
        llama.update_cache_with_indices(value, self.values, 0, indices)
        result = llama.custom_sdpa(query, self.keys, self.values, 0, None, 0.0, True)
        return llama.fast_hadamard_transform(result.reshape(1, 3, 32))


class QuantizedAttention(nn.Module):
    """Attention of int8 tensors [batch, heads, tokens, size], and a Hadamard transform of 56 elements."""

    def __init__(self) -> None:
        super().__init__()
        register_language_operators()
        self.scale = nn.Linear(1, 1)

    def forward(self, numbers: torch.Tensor, zero_points: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        llama = torch.ops.llama
        positive = self.scale(scales).abs() / 100
        parameters = [zero_points, positive] * 3
        inputs = [numbers] * 3
        result = llama.custom_quantized_sdpa(*inputs, 0, None, 0.0, True, None, *parameters, True)
        return llama.fast_hadamard_transform(result)


class DeltaRule(nn.Module):
    """Linear attention with gates: two heads of the state, and four of the query."""

    def __init__(self) -> None:
        super().__init__()
        register_language_operators()
        self.query, self.key, self.value = (nn.Linear(8, size) for size in (6, 6, 5))

    def forward(self, queries: torch.Tensor, tokens: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        decay, beta = torch.sigmoid(gates).unbind(-1)
        state = tokens.new_zeros(1, 2, 6, 5)
        arguments = (self.query(queries), self.key(tokens), self.value(tokens), decay, beta, state)
        outputs, last = torch.ops.llama.gated_delta_rule(*arguments)
        return outputs + last.sum()


def register_language_operators() -> None:
    """Imports the modules of this environment that register the operators of `llama`."""
    try:
        from executorch.extension.llm.custom_ops import custom_ops
    except ImportError:
        import rushlight.ir.delta_rule_ops
        import rushlight.ir.llm_ops as custom_ops  # type: ignore[no-redef]

        assert rushlight.ir.delta_rule_ops is not None
    assert custom_ops is not None


def build(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Returns the model in eval mode and its inputs. Images have 96 x 96 pixels."""
    if name.endswith("_half"):
        name = name.removesuffix("_half")
        module, inputs = build(name) if name in NAMES else build_quantized(name)
        return module.half(), tuple(item.half() for item in inputs)
    generator = torch.Generator().manual_seed(3)
    torch.manual_seed(0)
    if name == "add":
        return Add(), (torch.randn(3, 4, generator=generator), torch.randn(4, generator=generator))
    if name == "cached_attention":
        return CachedAttention().eval(), (
            torch.randn(1, 3, 32, generator=generator),
            torch.tensor([[0, 1, 2]]),
        )
    if name == "quantized_attention":
        shape = [1, 2, 5, 1]
        numbers = torch.randint(-100, 100, [1, 2, 5, 56], generator=generator, dtype=torch.int8)
        zero_points = torch.randint(-9, 9, shape, generator=generator, dtype=torch.int8)
        return QuantizedAttention().eval(), (numbers, zero_points, torch.rand(shape, generator=generator))
    if name == "delta_rule":
        queries, tokens, gates = (
            torch.randn(1, heads, 5, size, generator=generator) for heads, size in ((4, 8), (2, 8), (2, 2))
        )
        return DeltaRule().eval(), (queries, tokens, gates)
    if name == "digits":
        return Digits().eval(), (torch.rand(2, 1, 8, 8, generator=generator),)
    from models.catalog import build as build_measured

    case = build_measured(name)
    if case.inputs[0].dim() == 4:
        return case.module, (torch.randn(1, 3, 96, 96, generator=generator),)
    return case.module, case.inputs


class Block(nn.Module):
    """An inverted bottleneck with a residual connection, and the head of a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(8, 48, 1, bias=False),
            nn.BatchNorm2d(48),
            nn.ReLU6(),
            nn.Conv2d(48, 48, 3, padding=1, groups=48, bias=False),
            nn.BatchNorm2d(48),
            nn.ReLU6(),
            nn.Conv2d(48, 8, 1, bias=False),
            nn.BatchNorm2d(8),
        )
        self.shrink = nn.Conv2d(8, 40, 3, stride=2, padding=1, groups=2)
        self.classifier = nn.Linear(40, 10)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.shrink(x + self.body(x))
        pooled = nn.functional.adaptive_avg_pool2d(y, 1)
        return self.classifier(torch.flatten(pooled, 1)), y


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 96), nn.Linear(96, 33, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


# Arguments of get_symmetric_quantization_config. None means 4-bit weights with a scale for 32 inputs each.
QUANTIZED: dict[str, dict[str, object] | None] = {
    "digits_by_channel": {"is_per_channel": True},
    "digits_by_tensor": {"is_per_channel": False},
    "block": {"is_per_channel": True},
    "block_narrow": {"is_per_channel": True, "act_qmin": -90, "act_qmax": 100},
    "dynamic": {"is_per_channel": True, "is_dynamic": True},
    "dynamic_4_bit": {"is_per_channel": True, "is_dynamic": True, "weight_qmin": -8, "weight_qmax": 7},
    "dynamic_4_bit_groups": None,
}


def build_quantized(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Returns the float model of a quantized case in eval mode, and its inputs."""
    if name.startswith("digits"):
        return build("digits")
    torch.manual_seed(0)
    if name.startswith("block"):
        return Block().eval(), (torch.randn(1, 8, 10, 10),)
    return Perceptron().eval(), (torch.randn(2, 5, 64),)


def etrecord_facts(record: Any) -> dict[str, Any]:
    """Returns facts of an ETRecord as JSON. They must be equal in both systems."""

    def nodes(program: Any) -> list[list[Any]]:
        return [
            [getattr(node.target, "__name__", str(node.target)), node.meta.get("debug_handle")]
            + [(node.meta.get("stack_trace") or "").strip(), list(node.meta.get("nn_module_stack") or ())]
            for node in program.graph.nodes
            if node.op == "call_function" and node.target is not operator.getitem
        ]

    def lowered(program: Any) -> list[list[Any]]:
        graph_module = program.graph_module
        return [
            [module.backend_id, len(module.processed_bytes), nodes(module.original_module)]
            for _, module in graph_module.named_children()
            if hasattr(module, "backend_id")
        ]

    return {
        "exported": nodes(record.exported_program),
        "edge": nodes(record.edge_dialect_program),
        "lowered": {name: lowered(program) for name, program in (record.graph_map or {}).items()},
        "handles": record._debug_handle_map,
        "delegates": record._delegate_map,
        "counts": record._instruction_id_to_num_outs_map,
        "graph": record.export_graph_id,
        "inputs": [list(tensor.shape) for tensor in record._representative_inputs],
    }


def inspector_facts(inspector: Any) -> list[list[Any]]:
    """Returns facts of a dump, which must be equal in both Inspectors.

    They are the events of operators with their runs, backend, nodes and number of recorded values.
    """
    rows = []
    for event in (event for block in inspector.event_blocks for event in block.events):
        if event.name.startswith("native_call_") or event.is_delegated_op:
            # ExecuTorch's Inspector appends "_" to the names of nodes.
            nodes = sorted(name.rstrip("_") for name in event.stack_traces)
            assert event.perf_data is not None
            runs, values = len(event.perf_data.raw), len(event.debug_data)
            rows.append([event.name, runs, event.delegate_backend_name, nodes, values])
    return rows
