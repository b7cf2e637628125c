"""Checkpoints: names, conversions, files in several parts, and models without memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import Int8WeightOnlyConfig, quantize_

from rushlight.compat.llm_export.checkpoints import iter_checkpoint, load_checkpoint
from rushlight.compat.llm_export.weight_conversion import identity


class Model(nn.Module):
    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.embed(x)) * self.scale
        return out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with a checkpoint in two files."""
    parts = {
        "a.safetensors": {"m.embed": torch.randn(5, 4)},
        "b.safetensors": {"m.scale": torch.full((1,), 2.0)},
    }
    for name, weights in parts.items():
        save_file(weights, tmp_path / name, metadata={"format": "pt"})
    index = {key: name for name, weights in parts.items() for key in weights}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return tmp_path


def name_of(key: str) -> str | None:
    return {"m.embed": "embed.weight", "m.scale": "scale"}.get(key)


def test_a_model_is_loaded(folder: Path) -> None:
    with torch.device("meta"):
        model = Model()
    load_checkpoint(str(folder), model, key_map=name_of, tie_map={"embed.weight": ("head.weight", False)})
    assert model.head.weight.data_ptr() == model.embed.weight.data_ptr()
    assert model.scale.item() == 2 and not model.head.weight.requires_grad
    assert model(torch.tensor([1])).shape == (1, 5)
    with torch.device("meta"):
        model = Model()
    with pytest.raises(RuntimeError, match=r"no values: head\.weight"):
        load_checkpoint(str(folder), model, key_map=name_of)


def test_weights_are_renamed_converted_and_tied(folder: Path) -> None:
    path = str(folder / "a.safetensors")
    assert list(dict(iter_checkpoint(path))) == ["m.embed"]
    assert not list(iter_checkpoint(path, key_map=lambda key: None))
    seen = []

    def doubled(name: str, weight: torch.Tensor) -> torch.Tensor:
        seen.append((name, weight.dtype))
        return weight * 2

    ties = {"embed.weight": ("head.weight", True), "other": ("none", False)}
    found = dict(iter_checkpoint(path, key_map=name_of, convert=doubled, tie_map=ties, dtype=torch.float16))
    assert list(found) == ["embed.weight", "head.weight"] and seen == [("embed.weight", torch.float32)]
    assert torch.equal(found["embed.weight"], found["head.weight"])
    assert found["embed.weight"] is not found["head.weight"] and found["head.weight"].dtype is torch.float16
    own = [("embed.weight", torch.ones(1)), ("head.weight", torch.zeros(1))]
    read = list(iter_checkpoint("anything", raw_iter=lambda path: own, tie_map=ties))
    assert [(name, value.item()) for name, value in read] == [("embed.weight", 1), ("head.weight", 0)]
    with pytest.raises(ValueError, match=r"model\.bin is no \.gguf file"):
        list(iter_checkpoint("model.bin"))
    with pytest.raises(FileNotFoundError):
        list(iter_checkpoint(str(folder.parent)))


def test_quantized_weights_are_put_together(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))
    quantize_(model, Int8WeightOnlyConfig(version=2))
    expected = model.state_dict()
    data, metadata = flatten_tensor_state_dict(expected)
    save_file(data, tmp_path / "model.safetensors", metadata=metadata)
    found = dict(iter_checkpoint(str(tmp_path), convert=identity))
    assert list(found) == list(expected)
    for name, value in found.items():
        assert type(value) is type(expected[name])
    assert torch.equal(found["0.weight"].dequantize(), expected["0.weight"].dequantize())
    loaded = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))
    load_checkpoint(str(tmp_path), loaded)
    x = torch.randn(3, 8)
    torch.testing.assert_close(loaded(x), model(x))
