"""The times and token counts of a call."""

from __future__ import annotations

import json

from rushlight.llm import Stats


def test_rates() -> None:
    stats = Stats(
        model_load_start_ms=1,
        model_load_end_ms=2,
        inference_start_ms=100,
        prompt_eval_end_ms=120,
        inference_end_ms=220,
        num_prompt_tokens=10,
        num_generated_tokens=6,
        execution_ns=5_000_000,
    )
    facts = json.loads(stats.to_json_string())
    assert facts["prefill_token_per_sec"] == 500  # 10 tokens in 20 ms
    assert facts["decode_token_per_sec"] == 50  # the first token belongs to the prompt: 5 tokens in 100 ms
    assert (facts["prompt_tokens"], facts["generated_tokens"]) == (10, 6)
    assert facts["aggregate_model_execution_time_ms"] == 5
    assert repr(stats) == "<Stats num_prompt_tokens=10 num_generated_tokens=6 tokens_per_second=50.000000>"


def test_times_below_a_millisecond_give_no_rate() -> None:
    facts = json.loads(Stats(num_prompt_tokens=3).to_json_string())
    assert "prefill_token_per_sec" not in facts and "decode_token_per_sec" not in facts


def test_reset_keeps_the_times_of_loading() -> None:
    stats = Stats(model_load_start_ms=1, model_load_end_ms=2, inference_start_ms=3, sampling_ns=4)
    stats.reset()
    assert stats == Stats(model_load_start_ms=1, model_load_end_ms=2)
    stats.reset(all_stats=True)
    assert stats == Stats()


def test_sampling_is_measured() -> None:
    stats = Stats()
    stats.on_sampling_begin()
    stats.on_sampling_end()
    first = stats.sampling_ns
    assert first > 0 and stats.aggregate_sampling_time_ms == first // 1_000_000
    stats.on_sampling_begin()
    stats.on_sampling_end()
    assert stats.sampling_ns > first
