"""Long operations report their progress to a listener, and a terminal shows it."""

from __future__ import annotations

import io
import sys
import time
from typing import Any

import pytest
import torch
from torch import nn

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.ir.progress import counted, reports_to, show_progress, working
from rushlight.quantize import sensitivity, static_int8

X = (torch.randn(2, 4),)
MODEL = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


class Log:
    """A listener that records its reports."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int | None]] = []
        self.parts: list[int] = []
        self.open: list[int] = []

    def begin(self, what: str, total: int | None) -> int:
        self.begun.append((what, total))
        self.parts.append(0)
        self.open.append(len(self.begun) - 1)
        return self.open[-1]

    def advance(self, work: int) -> None:
        self.parts[work] += 1

    def end(self, work: int) -> None:
        self.open.remove(work)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def shows(self, text: str) -> bool:
        """Whether the text appears within some seconds. Another thread writes it."""
        for _ in range(1000):
            if text in self.getvalue():
                return True
            time.sleep(0.01)
        return False


def test_work_is_told_by_parts() -> None:
    log = Log()
    with reports_to(log):
        assert list(counted("count", [1, 2, 3])) == [1, 2, 3]
        assert list(counted("stream", iter("ab"))) == ["a", "b"]
        with pytest.raises(KeyError), working("fail"):
            raise KeyError
    assert list(counted("silent", [1])) == [1]
    assert log.begun == [("count", 3), ("stream", None), ("fail", None)]
    assert log.parts == [3, 2, 0] and log.open == []


def test_compiling_tells_its_stages() -> None:
    log = Log()
    with reports_to(log):
        rushlight.compile(MODEL, X)
    works = {what for what, _ in log.begun}
    assert {"export the model", "run passes", "lower to CpuBackend", "write the program"} <= works
    assert log.open == []
    assert all(log.parts[i] == total for i, (_, total) in enumerate(log.begun) if total is not None)


def test_quantizing_tells_its_items() -> None:
    log = Log()
    with reports_to(log):
        sensitivity(MODEL, X, CpuQuantizer().set_global(static_int8()), [X, X, X])
    assert {("calibrate", 3), ("measure sensitivity", 3)} <= set(log.begun)
    assert "measure layers" in dict(log.begun) and log.open == []


def test_a_terminal_shows_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with show_progress(delay=0):
        for item in counted("measure", range(10)):
            assert item > 0 or (terminal.shows("measure") and terminal.shows("/10"))
    assert sys.stderr is terminal


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with show_progress(delay=3600):
        assert list(counted("measure", range(3))) == [0, 1, 2]
    assert terminal.getvalue().strip() == ""


def test_what_is_no_terminal_shows_nothing(capsys: Any) -> None:
    with show_progress(delay=0):
        assert list(counted("measure", range(3))) == [0, 1, 2]
    assert capsys.readouterr().err == ""
