"""XnnpackBackend beside ExecuTorch's: float32 and int8 networks, interleaved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks import latency

FLOAT = ("mobilenet_v2", "resnet50", "deit_tiny")
INT8 = ("mobilenet_v2", "resnet50", "bert")


def tables(threads: Sequence[int], rounds: int) -> Iterator[str]:
    """A table for each network and number of threads. Errors are against eager's float32."""
    for suffix, models in (("", FLOAT), ("_int8", INT8)):
        ours = f"rushlight_xnnpack{suffix}"
        systems = [ours, f"executorch_xnnpack{suffix}"] + (["rushlight_xnnpack"] if suffix else [])
        for model in models:
            for count in threads:
                yield latency.table(latency.measure(model, systems, count, rounds), base=ours)
