"""Every command has an example in its help. Commands that print facts have the option --json."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.cli.main import main, parser
from rushlight.runtime import Runtime


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


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_what_the_command_does(name: str) -> None:
    description = COMMANDS[name].description or ""
    assert description.endswith(".") or ":" in description
    assert description.split()[0].endswith("s")  # a verb in the third person


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"completion"}))
def test_json_is_an_option(name: str) -> None:
    """`completion` has no --json, because a shell reads its output."""
    flags = {flag for action in COMMANDS[name]._actions for flag in action.option_strings}
    assert "--json" in flags


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, "--no-such-option"])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert f"rushlight {name}: error: " in error and f"`rushlight {name} --help`" in error
    assert len(error.splitlines()) == 2


def test_a_misspelt_option_is_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compile", "model.py:make", "--bakend=none"])
    assert "did you mean --backend?" in capsys.readouterr().err


def test_json_of_folders_and_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"cmake_dir", "include_dir", "library_dir"}
    assert main(["kernels", "--json", "--library", "portable"]) == 0
    assert "aten::add.out" in json.loads(capsys.readouterr().out)


READERS = {
    "run": ["run", "FILE"],
    "info": ["info", "FILE"],
    "inspect": ["inspect", "FILE"],
    "size": ["size", "FILE"],
    "bench": ["bench", "FILE"],
    "diff": ["diff", "FILE", "FILE"],
    "profile": ["profile", "FILE", "--module", "absent.py:make"],
    "compare": ["compare", "FILE", "--module", "absent.py:make"],
}


def error_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Returns the only line of standard error."""
    printed = capsys.readouterr().err
    assert printed.startswith("rushlight: ") and printed.count("\n") == 1
    return printed


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.pte", "No such file or directory"),
        ("folder.pte", ""),
        ("README.md", "not a .pte file"),
        ("empty.pte", "not a .pte file"),
        ("short.pte", "the program is damaged"),
        ("damaged.pte", "the program is damaged"),
    ],
)
def test_the_error_names_the_file_that_is_no_program(
    command: str, name: str, message: str, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = program.read_bytes()
    (tmp_path / "folder.pte").mkdir()
    (tmp_path / "README.md").write_text("# A text that is no program, and longer than a header\n" * 9)
    (tmp_path / "empty.pte").write_bytes(b"")
    (tmp_path / "short.pte").write_bytes(data[: len(data) // 2])
    (tmp_path / "damaged.pte").write_bytes(data[:60] + bytes(byte ^ 0x5A for byte in data[60:]))
    path = str(tmp_path / name)
    assert main([path if word == "FILE" else word for word in READERS[command]]) == 1
    printed = error_line(capsys)
    assert path in printed and message in printed and "Errno" not in printed


class Linear(torch.nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


@pytest.mark.parametrize("command", ["inspect", "size", "profile", "compare"])
def test_the_record_of_another_program_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for size in (3, 5):
        made = rushlight.compile(Linear(size), (torch.ones(1, size),), generate_etrecord=True)
        made.save(tmp_path / f"{size}.pte")
        made.get_etrecord().save(tmp_path / f"{size}.etrecord")
    program, record = tmp_path / "3.pte", tmp_path / "5.etrecord"
    assert main([command, str(program), "--etrecord", str(record)]) == 1
    printed = error_line(capsys)
    assert f"the ETRecord {record} does not belong to {program}" in printed


def test_the_dump_of_another_program_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for size in (3, 5):
        rushlight.compile(Linear(size), (torch.ones(1, size),)).save(tmp_path / f"{size}.pte")
    traced = Runtime.get().load_program(tmp_path / "5.pte", enable_etdump=True)
    traced.load_method("forward").execute([torch.ones(1, 5)])
    (tmp_path / "5.etdp").write_bytes(traced.etdump()[0])
    assert main(["inspect", str(tmp_path / "3.pte"), "--etdump", str(tmp_path / "5.etdp")]) == 1
    printed = error_line(capsys)
    assert str(tmp_path / "3.pte") in printed and str(tmp_path / "5.etdp") in printed


FACTORIES = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + {}["absent"]

def fails():
    return {}["absent"]

def number():
    return 3, (torch.ones(2),)

def few():
    return Model(), ()

def many():
    return Model(), (torch.ones(2), torch.ones(2))

def forward_fails():
    return Model(), (torch.ones(2),)
"""


@pytest.mark.parametrize("command", ["compile", "quantize", "compare"])
@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("bad.py:fails", "fails() failed: {folder}/bad.py:9: return {{}}[\"absent\"]: KeyError: 'absent'"),
        ("bad.py:number", "number() must return a torch.nn.Module or an exported program, not int"),
        ("bad.py:few", "forward of Model does not accept the 0 example inputs that few() returns"),
        ("bad.py:many", "forward of Model does not accept the 2 example inputs that many() returns"),
        ("bad.py:forward_fails", "{folder}/bad.py:6: return x + {{}}[\"absent\"]: KeyError: 'absent'"),
        ("syntax.py:make", "syntax.py is not Python code: invalid syntax"),
        ("README.md:make", "there is no module 'README.md'"),
        ("imports.py:make", "No module named 'absent_package'"),
    ],
)
def test_the_error_names_the_line_of_a_bad_factory(
    command: str,
    factory: str,
    message: str,
    program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.py").write_text(FACTORIES)
    Path("syntax.py").write_text("def make(:")
    Path("imports.py").write_text("import absent_package")
    arguments = [str(program), "--module", factory] if command == "compare" else [factory]
    arguments += ["--config", "dynamic_int8"] if command == "quantize" else []
    assert main([command, *arguments]) == 1
    assert message.format(folder=tmp_path) in error_line(capsys)
    assert not list(tmp_path.glob("*forward_fails*.pte"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "PROGRAM", "--threads", "0"],
        ["run", "PROGRAM", "--threads", "-3"],
        ["profile", "PROGRAM", "--runs", "0"],
        ["profile", "PROGRAM", "--top", "-1"],
        ["bench", "PROGRAM", "--seconds", "-1"],
        ["bench", "PROGRAM", "--warmup", "-1"],
        ["compare", "PROGRAM", "--rtol", "-1"],
        ["compare", "PROGRAM", "--atol", "nan"],
    ],
)
def test_numbers_that_are_too_small(
    arguments: list[str], program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(program) if word == "PROGRAM" else word for word in arguments])
    assert stopped.value.code == 2
    assert f"argument {arguments[2]}: {arguments[3]} is less than" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["profile", "PROGRAM", "--etdump", "absent/x"],
            "--etdump absent/x: the folder absent does not exist",
        ),
        (["profile", "PROGRAM", "--trace", "folder"], "--trace folder: this is a folder"),
        (["inspect", "PROGRAM", "--html", "folder"], "--html folder: this is a folder"),
        (["compile", "x.py:make", "--etrecord", "absent/x"], "--etrecord absent/x: the folder absent does"),
        (
            ["run", "PROGRAM", "--outputs", "file"],
            "--outputs file: this is a file; give the name of a folder",
        ),
    ],
)
def test_outputs_that_cannot_be_written(
    arguments: list[str],
    message: str,
    program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_text("")
    assert main([str(program) if word == "PROGRAM" else word for word in arguments]) == 1
    assert message in error_line(capsys)
