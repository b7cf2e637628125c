"""Reads the weights of a checkpoint one by one, and loads them into a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from rushlight.compat.llm_export.gguf import iter_gguf
from rushlight.compat.llm_export.weight_conversion import (
    Convert,
    assert_all_materialized,
    assign_one,
    maybe_cast,
    to_default,
)


def _files(path: Path) -> list[Path]:
    """Returns the files of a checkpoint, which is a file or a folder."""
    if not path.is_dir():
        return [path]
    index = path / "model.safetensors.index.json"
    if index.exists():
        names = json.loads(index.read_text())["weight_map"].values()
    else:
        names = ["model.safetensors"]
    return [path / name for name in sorted(set(names))]


def _iter_safetensors(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Reads the weights of safetensors files. torchao stores a quantized weight as several tensors."""
    from safetensors import safe_open
    from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict

    with ExitStack() as stack:
        files = [stack.enter_context(safe_open(file, framework="pt")) for file in _files(path)]
        where = {key: file for file in files for key in file.keys()}  # noqa: SIM118
        facts: dict[str, str] = {}
        names: list[str] = []
        for file in files:
            found = file.metadata() or {}
            facts.update(found)
            names += json.loads(found.get("tensor_names", "[]"))
        if not names:
            yield from ((key, file.get_tensor(key)) for key, file in where.items())
        for name in dict.fromkeys(names):
            module, dot, weight = name.rpartition(".")
            parts = json.loads(facts[name]).get("_tensor_data_names")
            keys = [f"{module}{dot}_{weight}_{part}" for part in parts] if parts else [name]
            data = {key: where[key].get_tensor(key) for key in keys if key in where}
            whole, _ = unflatten_tensor_state_dict(
                data, {"tensor_names": json.dumps([name]), name: facts[name]}
            )
            yield from whole.items()


def iter_checkpoint(
    path: str,
    *,
    key_map: Callable[[str], str | None] | None = None,
    convert: Convert = to_default,
    tie_map: Mapping[str, tuple[str, bool]] | None = None,
    dtype: torch.dtype | None = None,
    raw_iter: Callable[[str], Iterable[tuple[str, torch.Tensor]]] | None = None,
) -> Iterator[tuple[str, torch.Tensor]]:
    """Reads the names and weights of a checkpoint one by one.

    Args:
        path: a .gguf file, a .safetensors file or a folder with safetensors files.
        key_map: returns the name in the model for a name in the checkpoint; None leaves the weight out.
        convert: converts each weight. Its first argument is the name in the model.
        tie_map: for the name of a weight, the name of another weight that has the same value if the
            checkpoint does not contain it, and whether this value is a copy.
        dtype: the dtype of float weights after `convert`, as for `maybe_cast`.
        raw_iter: reads the names and weights at `path`, instead of the readers of this module.

    Raises:
        ValueError: the path has another ending.
    """
    if raw_iter is not None:
        raw = raw_iter(path)
    elif path.endswith(".gguf"):
        raw = iter_gguf(path)
    elif path.endswith(".safetensors") or Path(path).is_dir():
        raw = _iter_safetensors(Path(path))
    else:
        raise ValueError(f"{path} is no .gguf file, no .safetensors file and no folder")
    seen: set[str] = set()
    tied: dict[str, tuple[torch.Tensor, bool]] = {}
    for key, weight in raw:
        name = key_map(key) if key_map else key
        if name is None:
            continue
        value = maybe_cast(convert(name, weight), dtype)
        seen.add(name)
        if tie_map and name in tie_map:
            other, is_copy = tie_map[name]
            tied[other] = (value, is_copy)
        yield name, value
    for name, (value, is_copy) in tied.items():
        if name not in seen:
            yield name, value.clone() if is_copy else value


def load_checkpoint(path: str, model: torch.nn.Module, **options: Any) -> None:
    """Loads a checkpoint into a model, whose parameters may be on the meta device.

    Args:
        path: the checkpoint.
        model: the model.
        options: the options of `iter_checkpoint`.

    Raises:
        RuntimeError: a parameter of the model has no value then.
    """
    for name, value in iter_checkpoint(path, **options):
        assign_one(model, name, value)
    assert_all_materialized(model)
