"""The times and counts of text generation: `Stats`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, fields
from typing import ClassVar

_LOAD = ("model_load_start_ms", "model_load_end_ms")


def now_ms() -> int:
    """Returns the time since the epoch in milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass(repr=False)
class Stats:
    """Times and counts of one call of a runner.

    Points in time are in milliseconds since the epoch. Durations are in nanoseconds.

    Attributes:
        model_load_start_ms: when loading the program began.
        model_load_end_ms: when loading the program ended.
        inference_start_ms: when the call began.
        token_encode_end_ms: when the encoding of the prompt ended.
        model_execution_start_ms: when the last run of the model began.
        model_execution_end_ms: when the last run of the model ended.
        prompt_eval_end_ms: when the prefill of the prompt ended.
        first_token_ms: when the first token was sampled.
        inference_end_ms: when the call ended.
        num_prompt_tokens: the number of positions of the prompt.
        num_generated_tokens: the number of generated tokens.
        execution_ns: the total time of the runs of the model, including the prefill.
        sampling_ns: the total time of sampling.
    """

    SCALING_FACTOR_UNITS_PER_SECOND: ClassVar[int] = 1000

    model_load_start_ms: int = 0
    model_load_end_ms: int = 0
    inference_start_ms: int = 0
    token_encode_end_ms: int = 0
    model_execution_start_ms: int = 0
    model_execution_end_ms: int = 0
    prompt_eval_end_ms: int = 0
    first_token_ms: int = 0
    inference_end_ms: int = 0
    num_prompt_tokens: int = 0
    num_generated_tokens: int = 0
    execution_ns: int = 0
    sampling_ns: int = 0
    _sampling_start_ns: int = 0

    @property
    def aggregate_sampling_time_ms(self) -> int:
        """The total time of sampling, in milliseconds."""
        return self.sampling_ns // 1_000_000

    @property
    def aggregate_model_execution_time_ms(self) -> int:
        """The total time of the runs of the model, including the prefill, in milliseconds."""
        return self.execution_ns // 1_000_000

    def on_sampling_begin(self) -> None:
        """Starts the measurement of a sampling."""
        self._sampling_start_ns = time.perf_counter_ns()

    def on_sampling_end(self) -> None:
        """Adds the time since `on_sampling_begin` to the total time of sampling."""
        self.sampling_ns += time.perf_counter_ns() - self._sampling_start_ns

    def reset(self, all_stats: bool = False) -> None:
        """Sets the numbers to 0.

        Args:
            all_stats: also set the times of loading to 0.
        """
        for field in fields(self):
            if all_stats or field.name not in _LOAD:
                setattr(self, field.name, 0)

    def to_json_string(self) -> str:
        """Returns times, counts and rates as a JSON object.

        The object does not contain rates whose time is less than a millisecond.
        """
        facts: dict[str, float] = {}
        prompt_ms = self.prompt_eval_end_ms - self.inference_start_ms
        decode_ms = self.inference_end_ms - self.prompt_eval_end_ms
        if prompt_ms > 0:
            facts["prefill_token_per_sec"] = round(self.num_prompt_tokens / prompt_ms * 1000, 2)
        if decode_ms > 0:
            facts["decode_token_per_sec"] = round(max(0, self.num_generated_tokens - 1) / decode_ms * 1000, 2)
        facts["prompt_tokens"] = self.num_prompt_tokens
        facts["generated_tokens"] = self.num_generated_tokens
        for name in (
            "model_load_start_ms",
            "model_load_end_ms",
            "inference_start_ms",
            "inference_end_ms",
            "model_execution_start_ms",
            "model_execution_end_ms",
            "prompt_eval_end_ms",
            "first_token_ms",
            "aggregate_sampling_time_ms",
            "aggregate_model_execution_time_ms",
            "SCALING_FACTOR_UNITS_PER_SECOND",
        ):
            facts[name] = getattr(self, name)
        return json.dumps(facts, separators=(",", ":"))

    def __repr__(self) -> str:
        total_ms = self.inference_end_ms - self.inference_start_ms
        rate = self.num_generated_tokens / total_ms * 1000 if total_ms > 0 else 0.0
        return (
            f"<Stats num_prompt_tokens={self.num_prompt_tokens} "
            f"num_generated_tokens={self.num_generated_tokens} tokens_per_second={rate:f}>"
        )
