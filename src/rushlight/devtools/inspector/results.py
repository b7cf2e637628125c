"""Compares the outputs of two runs."""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.devtools.inspector.numerical_comparator import (
    CosineComparator,
    MSEComparator,
    SNRComparator,
)

_METRICS = ("snr", "mse", "cosine_similarity")


def compare_results(
    reference_output: Sequence[object],
    run_output: Sequence[object],
    metrics: Sequence[str] | None = None,
    plot: bool = False,
) -> dict[str, list[float]]:
    """Compares the outputs of two runs, and prints the result.

    Args:
        reference_output: the expected outputs.
        run_output: the outputs to compare with them.
        metrics: the metrics: "snr" (in dB), "mse" and "cosine_similarity". None means all.
        plot: must be False, because plots are not supported.

    Returns:
        A list for each metric, by name, with a number for each output.

    Raises:
        ValueError: a metric is unknown, the numbers of outputs differ, or plot is True.
    """
    if plot:
        raise ValueError("plot=True is not supported; plot the returned numbers instead")
    unknown = [name for name in metrics or () if name not in _METRICS]
    if unknown:
        raise ValueError(f"the metrics {unknown} are not known; the metrics are {', '.join(_METRICS)}")
    if len(reference_output) != len(run_output):
        raise ValueError(f"the numbers of outputs differ: {len(reference_output)} and {len(run_output)}")
    results: dict[str, list[float]] = {}
    for name in _METRICS:
        if metrics is None or name in metrics:
            results[name] = [measure(name, a, b) for a, b in zip(reference_output, run_output, strict=True)]
            print(name, *(f"{index:<5}{value:>12.5f}" for index, value in enumerate(results[name])), sep="\n")
    return results


def measure(metric: str, reference: object, value: object) -> float:
    """Returns a metric of `compare_results` for a reference and a value.

    Args:
        metric: "snr" (in dB), "mse" or "cosine_similarity".
        reference: the expected value.
        value: the value to compare with it.
    """
    if metric == "cosine_similarity":
        return 1.0 - CosineComparator().element_compare(reference, value)
    comparator = SNRComparator() if metric == "snr" else MSEComparator()
    return comparator.element_compare(reference, value)
