"""The calibration of language models: a prepared graph completes a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from rushlight.llm.tokenizer import load_tokenizer


class Model(Protocol):
    """The options of `LLMEdgeManager` that describe the inputs and outputs of the model."""

    use_kv_cache: bool
    enable_dynamic_shape: bool
    generate_full_logits: bool
    example_inputs: tuple[Any, ...]
    example_kwarg_inputs: dict[str, Any] | None
    calibration_tasks: list[str] | None
    calibration_limit: int | None
    calibration_seq_length: int | None
    calibration_data: str | None
    tokenizer_path: str | None


@dataclass
class Calibration:
    """Calibrates a graph with a text.

    Args:
        model: the options of the model.
        data: the start of the text.
        length: the largest number of tokens.
        tokenizer_path: the file of the tokenizer.
        tasks: must be empty, because tasks of lm_eval are not supported.
        limit: must be None, because it limits the tasks.

    Raises:
        ValueError: there are tasks or a limit, the model has a fixed number of tokens and returns the logits
            of the last one only, a model with a cache has no input `input_pos`, or `length` is not a valid
            number of tokens.
    """

    model: Model
    data: str
    length: int
    tokenizer_path: str
    tasks: list[str] | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        _refuse_tasks(self.tasks, self.limit)
        if self.length < 1:
            raise ValueError(f"calibration_seq_length must be positive, not {self.length}")
        model = self.model
        if not (model.use_kv_cache or model.enable_dynamic_shape or model.generate_full_logits):
            raise ValueError(
                "calibration with a text needs generate_full_logits=True if the model has no cache and a "
                "fixed number of tokens: the text is padded to this number, and the logits of the last token "
                "would be those of the padding"
            )
        if model.use_kv_cache:
            _cache_options(model)
        if not (model.use_kv_cache or model.enable_dynamic_shape):
            size = model.example_inputs[0].shape[1]
            if self.length > size:
                raise ValueError(
                    f"calibration_seq_length={self.length} is larger than the number of tokens of the model, "
                    f"{size}"
                )

    @classmethod
    def of(cls, model: Model) -> Calibration | None:
        """Returns the calibration that the options of a model describe; None means the example inputs.

        Raises:
            ValueError: an option is not supported, or the text or the tokenizer is missing.
        """
        _refuse_tasks(model.calibration_tasks, model.calibration_limit)
        if model.calibration_seq_length is None:
            return None
        for name in ("calibration_data", "tokenizer_path"):
            if getattr(model, name) is None:
                raise ValueError(f"calibration_seq_length={model.calibration_seq_length} needs {name} too")
        assert model.calibration_data is not None and model.tokenizer_path is not None
        return cls(model, model.calibration_data, model.calibration_seq_length, model.tokenizer_path)

    def run(self, module: torch.nn.Module) -> None:
        """Completes the text with greedy sampling until the limit or an EOS token."""
        tokenizer = load_tokenizer(self.tokenizer_path)
        tokens = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
        tokens += tokenizer.encode(self.data)
        if not tokens:
            raise ValueError("calibration_data contains no tokens")
        padding = min(tokenizer.eos_ids, default=0)
        with torch.no_grad():
            for position in range(self.length):
                if tokens[-1] in tokenizer.eos_ids:
                    break
                logits = self._logits(module, tokens, position, padding)
                if position + 1 == len(tokens):
                    tokens.append(int(logits.argmax(-1)))

    def _logits(
        self, module: torch.nn.Module, tokens: list[int], position: int, padding: int
    ) -> torch.Tensor:
        """Returns the logits of the token at a position: a tensor with one element for each token ID."""
        dtype = self.model.example_inputs[0].dtype
        if self.model.use_kv_cache:
            keywords = self.model.example_kwarg_inputs
            options = _cache_options(self.model)
            place = {"input_pos": torch.tensor([position], dtype=options["input_pos"].dtype)}
            token = torch.tensor([[tokens[position]]], dtype=dtype)
            logits: torch.Tensor = module(token, **place) if keywords is not None else module(token, place)
            last = -1
        else:
            start, last = tokens[: position + 1], position
            if not self.model.enable_dynamic_shape:
                start = start + [padding] * (self.model.example_inputs[0].shape[1] - len(start))
            logits = module(torch.tensor([start], dtype=dtype))
        return logits[0, last] if self.model.generate_full_logits else logits.reshape(-1)


def _cache_options(model: Model) -> Mapping[str, Any]:
    """Returns the inputs of a model with a cache that are not tokens.

    Raises:
        ValueError: the position `input_pos` is not one of them.
    """
    inputs, keywords = model.example_inputs, model.example_kwarg_inputs
    options = keywords if keywords is not None else inputs[1] if len(inputs) > 1 else None
    if not isinstance(options, Mapping) or "input_pos" not in options:
        raise ValueError(
            "calibration of a model with a cache needs the position of the token: a keyword input "
            "`input_pos`, or a dict with `input_pos` as second positional input"
        )
    return options


def _refuse_tasks(tasks: list[str] | None, limit: int | None) -> None:
    if tasks:
        raise ValueError(
            f"calibration_tasks={tasks}: Rushlight does not calibrate with tasks of lm_eval; pass a text as "
            "calibration_data, with calibration_seq_length and tokenizer_path"
        )
    if limit is not None:
        raise ValueError(f"calibration_limit={limit} has no effect, because it limits calibration_tasks")
