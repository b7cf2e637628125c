"""Every command has an example in its help, and JSON where it prints facts."""

from __future__ import annotations

import argparse
import json

import pytest

from rushlight.cli.main import main, parser


def commands() -> dict[str, argparse.ArgumentParser]:
    top = parser()
    action = next(item for item in top._actions if isinstance(item, argparse._SubParsersAction))
    return dict(action.choices)


COMMANDS = commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "example:" in printed and f"rushlight {name}" in printed.partition("example:")[2]


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"completion"}))
def test_json_is_an_option(name: str) -> None:
    """The script of `completion` is for a shell."""
    flags = {flag for action in COMMANDS[name]._actions for flag in action.option_strings}
    assert "--json" in flags


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, "--no-such-option"])
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_json_of_folders_and_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"cmake_dir", "include_dir", "library_dir"}
    assert main(["kernels", "--json", "--library", "portable"]) == 0
    assert "aten::add.out" in json.loads(capsys.readouterr().out)
