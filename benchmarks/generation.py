"""Measures the overhead of a runner of language models: `python -m benchmarks.generation`.

It compares two times for each decoded token: that of the runner (model, sampling, decoding of the text,
callback) and that of the model only. Both run in turn.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from models.wide import Llama
from torch.export import Dim, export

import rushlight
from rushlight.llm import GenerationConfig, TextLLMRunner
from rushlight.runtime import Runtime

CONTEXT = 256


class Numbers:
    """A tokenizer with minimal cost."""

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]

    def decode(self, tokens: list[int]) -> str:
        return " ".join(map(str, tokens))


def program(vocabulary: int, width: int, layers: int) -> bytes:
    """Compiles a Llama model with random weights for a runner."""
    torch.manual_seed(0)
    model = Llama(width=width, layers=layers, vocabulary=vocabulary, length=CONTEXT).eval()
    count = Dim("count", min=1, max=CONTEXT - 1)
    inputs = (torch.zeros(1, 3, dtype=torch.int64), torch.arange(3))
    exported = export(model, inputs, dynamic_shapes=({1: count}, {0: count}))
    constants = {"get_max_seq_len": CONTEXT - 1, "get_max_context_len": CONTEXT, "enable_dynamic_shape": True}
    return rushlight.compile(exported, constant_methods=constants).buffer


def measure(buffer: bytes, config: GenerationConfig, threads: int, rounds: int) -> tuple[float, float]:
    """Returns the median microseconds for a decoded token: of the runner, and of the method only."""
    runner = TextLLMRunner(buffer, Numbers(), threads=threads)
    method = Runtime.get().load_program(buffer, threads=threads).load_method("forward")
    token, position = np.array([[5]]), np.array([0])
    ours, alone = [], []
    for _ in range(rounds):
        runner.reset()
        times: list[float] = []
        runner.generate("5 6 7 8", config, _clock(times))
        ours += np.diff(times).tolist()
        for place in range(4, 4 + len(times)):
            position[0] = place
            start = time.perf_counter()
            method.execute((token, position))
            alone.append(time.perf_counter() - start)
    return statistics.median(ours) * 1e6, statistics.median(alone) * 1e6


def _clock(times: list[float]) -> Callable[[str], None]:
    """Returns a callback that appends the time of each call to `times`."""
    return lambda piece: times.append(time.perf_counter())


def main() -> None:
    """Prints a row for each sampling method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[4000, 128000])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ways = {"greedy": {"temperature": 0.0}, "temperature": {"top_p": 1.0}, "top-p 0.9": {"top_p": 0.9}}
    print(f"{'vocabulary':>10} {'choice':>12} {'runner us':>10} {'method us':>10} {'added us':>9}")
    for vocabulary in options.vocabulary:
        buffer = program(vocabulary, options.width, options.layers)
        for name, way in ways.items():
            config = GenerationConfig(echo=False, max_new_tokens=100, seed=0, **way)  # type: ignore[arg-type]
            ours, alone = measure(buffer, config, options.threads, options.rounds)
            print(f"{vocabulary:10} {name:>12} {ours:10.0f} {alone:10.0f} {ours - alone:9.0f}")


if __name__ == "__main__":
    main()
