"""The chart of ratios in README.md and docs/benchmarks.md, as an SVG file."""

from __future__ import annotations

from html import escape

from benchmarks.results import Results, ratio

NAMES = {
    "resnet18": "ResNet-18",
    "lstm": "LSTM, 2 layers",
    "mobilenet_v3_small": "MobileNetV3-small",
    "gpt2_step": "GPT-2-like decoder, 1 token",
    "resnet50": "ResNet-50",
    "mobilenet_v2": "MobileNetV2",
    "bert": "BERT encoder, 6 layers",
    "deit_tiny": "DeiT-tiny",
    "vit_b_16": "ViT-B/16",
}
"""The networks of the chart: names in the figures files and labels."""

_LABEL, _PLOT, _RIGHT = 250, 470, 60  # widths: labels, ratios of 0 to 1, values
_TOP, _BAR, _GAP, _BOTTOM = 96, 15, 13, 34
_COLORS = {"highest": "#1f6feb", "high": "#8ab8f5", "int8": "#d4762c"}
_TEXT = {
    "highest": "float32, default",
    "high": 'float32, float32_matmul_precision="high"',
    "int8": "int8",
}


_OTHERS = "ExecuTorch with XNNPACK, ONNX Runtime, OpenVINO, LiteRT, torch.compile"


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}"{attributes}>{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" fill="{fill}"/>'


def _bars(results: Results, threads: int) -> list[tuple[str, list[tuple[str, float]]]]:
    """Returns for each network its name and its bars: a kind of bar and a ratio."""
    rows = []
    for model, name in NAMES.items():
        block = results.block(model, threads, False)
        found = {
            "highest": ratio(block, False),
            "high": ratio(block, False, "rushlight_high"),
            "int8": ratio(results.block(model, threads, True), True),
        }
        rows.append((name, [(kind, item[0]) for kind, item in found.items() if item]))
    return [row for row in rows if row[1]]


def range_of_bars(results: Results, threads: int = 1) -> tuple[float, float]:
    """Returns the smallest and the largest ratio in the chart."""
    ratios = [value for _, bars in _bars(results, threads) for _, value in bars]
    return min(ratios), max(ratios)


def chart(results: Results, threads: int = 1) -> str:
    """Draws an SVG chart with one group of bars for each network.

    Args:
        results: the measured figures.
        threads: the number of threads of the figures to show.

    Returns:
        The text of the file: bars of our time divided by the time of the fastest other system, from 0 to 1,
        with a line at 1.
    """
    rows = _bars(results, threads)
    bars = sum(len(values) for _, values in rows)
    bottom = _TOP + bars * _BAR + len(rows) * _GAP
    width, height = _LABEL + _PLOT + _RIGHT, bottom + _BOTTOM
    count = f"{threads} thread{'s' if threads > 1 else ''}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="#24292f">',
        _rect(0, 0, width, height, "#ffffff"),
        _text(16, 28, f"Time of Rushlight / time of the fastest other runtime, {count}", ' font-size="16"'),
        _text(16, 48, f"Shorter is faster. The others: {_OTHERS}.", ' fill="#57606a"'),
    ]
    x = 16.0
    for kind, text in _TEXT.items():
        parts += [_rect(x, 62, 12, 12, _COLORS[kind]), _text(x + 18, 73, text)]
        x += 165 if kind == "highest" else 325
    for tenth in range(0, 11, 2):
        at = _LABEL + _PLOT * tenth / 10
        stroke = "#24292f" if tenth == 10 else "#d8dee4"
        parts.append(f'<line x1="{at:.0f}" y1="{_TOP - 6}" x2="{at:.0f}" y2="{bottom}" stroke="{stroke}"/>')
        parts.append(_text(at, bottom + 18, f"{tenth / 10:.1f}", ' text-anchor="middle"'))
    y = float(_TOP)
    for name, values in rows:
        middle = y + len(values) * _BAR / 2 + 4
        parts.append(_text(_LABEL - 12, middle, name, ' text-anchor="end"'))
        for kind, value in values:
            length = _PLOT * value
            parts.append(_rect(_LABEL, y, length, _BAR - 2, _COLORS[kind]))
            fill = "#24292f" if kind == "high" else "#ffffff"
            attributes = f' font-size="11" text-anchor="end" fill="{fill}"'
            parts.append(_text(_LABEL + length - 5, y + _BAR - 4, f"{value:.2f}", attributes))
            y += _BAR
        y += _GAP
    return "\n".join([*parts, "</svg>"]) + "\n"
