"""After Ctrl-C, no file is incomplete, the exit code is 130, and the next command works."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.test_limits import Endless, X, compiled

from rushlight.cli.exit_codes import INTERRUPTED, OK
from rushlight.cli.interrupts import cancellable
from rushlight.cli.main import main
from rushlight.runtime import Runtime

MODEL = """
import os
import signal
import torch

def at(place):
    if os.environ.get("INTERRUPT_AT") == place:
        signal.raise_signal(signal.SIGINT)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        at("forward")
        return torch.relu(self.linear(x)) + torch.softmax(x, 1)

def factory():
    at("factory")
    return Net(), (torch.ones(2, 8),)

at("import")
"""


pytestmark = pytest.mark.usefixtures("ctrl_c")


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "interrupted_net.py").write_text(MODEL)
    return f"{tmp_path / 'interrupted_net.py'}:factory"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("place", ["import", "factory", "forward"])
def test_ctrl_c_in_the_code_of_the_model(
    model: str,
    tmp_path: Path,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "net.pte").write_bytes(b"the old file")
    command = ["compile", model, "-o", str(folder / "net.pte")]
    with monkeypatch.context() as patch:
        patch.setenv("INTERRUPT_AT", place)
        assert main(command) == INTERRUPTED
    assert capsys.readouterr().err.endswith("rushlight: interrupted\n")
    assert contents(folder) == {"net.pte": b"the old file"}
    assert main(command) == OK
    assert main(["run", str(folder / "net.pte")]) == OK


class Compile:
    """A command that writes a program and its ETRecord in a new folder."""

    def __init__(self, folder: Path) -> None:
        model, self.out = folder / "interrupted_net.py", folder / "out"
        model.write_text(MODEL)
        self.out.mkdir()
        files = ["-o", str(self.out / "net.pte"), "--etrecord", str(self.out / "net.etrecord")]
        self.command = [sys.executable, "-m", "rushlight.cli.main", "compile", f"{model}:factory", *files]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, float]:
    """Returns the program of a compile without a signal, and its time in seconds."""
    compile = Compile(tmp_path_factory.mktemp("whole"))
    start = time.perf_counter()
    subprocess.run(compile.command, check=True, capture_output=True)
    return contents(compile.out)["net.pte"], time.perf_counter() - start


LONG = pytest.mark.long


@pytest.mark.parametrize("share", [pytest.param(0.3, marks=LONG), 0.6, pytest.param(0.8, marks=LONG), 0.95])
def test_ctrl_c_at_any_moment_of_a_compile(share: float, whole: tuple[bytes, float], tmp_path: Path) -> None:
    """Files are complete or do not exist, independent of the time of the signal.

    Each compile has a process, since a signal at any moment leaves torch's own state broken.
    """
    wanted, seconds = whole
    compile = Compile(tmp_path)
    process = subprocess.Popen(compile.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds * share)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=600) in (OK, INTERRUPTED, -signal.SIGINT)
    found = contents(compile.out)
    assert set(found) <= {"net.pte", "net.etrecord"} and found.get("net.pte", wanted) == wanted


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("endless") / "endless.pte"
    path.write_bytes(compiled(Endless(), X))
    return path


def interrupt_runs(main_thread: int, done: threading.Event) -> None:
    """Sends SIGINT to the thread after a run has started."""
    while not done.wait(0.02):
        if any(thread.name == "rushlight-run" for thread in threading.enumerate()):
            done.wait(0.05)
            signal.pthread_kill(main_thread, signal.SIGINT)
            return


@pytest.mark.threads
@pytest.mark.parametrize("command", ["run", "bench", "profile"])
def test_ctrl_c_while_a_program_runs(
    endless: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    files = {
        "run": ["--outputs", str(folder)],
        "bench": [],
        "profile": ["--etdump", str(tmp_path / "run.etdp"), "--trace", str(tmp_path / "run.json")],
    }
    if command == "profile":
        record(endless)
    done = threading.Event()
    watcher = threading.Thread(target=interrupt_runs, args=(threading.get_ident(), done))
    watcher.start()
    try:
        assert main([command, str(endless), *files[command]]) == INTERRUPTED
    finally:
        done.set()
        watcher.join()
    assert "rushlight: interrupted" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def record(path: Path) -> None:
    """Writes the ETRecord of the endless program next to the program."""
    import torch

    import rushlight

    exported = torch.export.export(Endless(), (X,))
    compiled = rushlight.compile(exported, partitioner=(), generate_etrecord=True)
    compiled.save(path)
    compiled.get_etrecord().save(path.with_suffix(".etrecord"))


@pytest.mark.threads
def test_a_cancelled_method_runs_again(program: Path) -> None:
    method = Runtime.get().load_program(program).load_method("forward")
    x = np.ones(2, np.float32)
    begun, ended = threading.Event(), threading.Event()
    main_thread = threading.get_ident()

    def interrupt() -> None:
        begun.wait()
        signal.pthread_kill(main_thread, signal.SIGINT)

    def work(check: Callable[[], None]) -> None:
        begun.set()
        try:
            while True:
                check()
                method.execute([x])
        finally:
            ended.set()

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        cancellable(method, work)
    sender.join()
    assert ended.is_set()
    np.testing.assert_array_equal(method.execute([x])[0], [11, 21])


def test_errors_of_the_work(program: Path) -> None:
    method = Runtime.get().load_program(program).load_method("forward")
    with pytest.raises(ValueError, match="2 are given"):
        cancellable(method, lambda _: method.execute([1, 2]))
    assert cancellable(method, lambda _: 3) == 3
