"""`rushlight completion`: the script works in shells, and every help text has an example."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from rushlight.cli.main import main, parser


def test_bash_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    ask = 'COMP_WORDS=({words}); COMP_CWORD={at}; _rushlight; echo "${{COMPREPLY[@]}}"'
    for words, at, expected in (
        ("rushlight di", 1, "diff"),
        ("rushlight size --etr", 2, "--etrecord"),
    ):
        line = ask.format(words=words, at=at)
        found = subprocess.run(
            ["bash", "-c", f"{script}\n{line}"], capture_output=True, text=True, check=True, timeout=60
        )
        assert found.stdout.split() == [expected], found.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "diff" in script and "etrecord" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=60)


def test_every_help_has_an_example() -> None:
    (commands,) = [action.choices for action in parser()._actions if isinstance(action.choices, dict)]
    for name, command in commands.items():
        assert f"example: rushlight {name}" in (command.epilog or "") or name == "completion", name
        assert (command.epilog or "").splitlines()[
            0
        ] in command.format_help().splitlines()  # an example of one line
