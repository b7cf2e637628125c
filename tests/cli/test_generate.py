"""`rushlight generate`: the text of the runner, its speed, and the errors of its files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from tests.llm.programs import WORDS, greedy, llama, text_program, with_metadata

from rushlight.cli.main import main

Capture = pytest.CaptureFixture[str]
PROMPT = [15, 2, 26, 10, 3]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Writes a program, and a tokenizer whose words are numbers."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    program, tokenizer = tmp_path / "model.pte", tmp_path / "tokenizer.json"
    program.write_bytes(text_program("started"))
    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="w39"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.save(str(tokenizer))
    return [str(program), "--tokenizer", str(tokenizer), "--threads", "1"]


def words(tokens: list[int]) -> list[str]:
    return [WORDS[token] for token in tokens]


@pytest.mark.parametrize("from_stdin", [False, True])
def test_the_text_is_eagers(
    files: list[str], from_stdin: bool, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = " ".join(words(PROMPT))
    monkeypatch.setattr("sys.stdin", io.StringIO(prompt))
    given = [] if from_stdin else ["--prompt", prompt]
    assert main(["generate", *files, *given, "--temperature", "0", "--max-new-tokens", "6"]) == 0
    printed = capsys.readouterr()
    assert printed.out.split() == words(greedy(llama(), PROMPT, 6))
    assert "prompt 5 tokens" in printed.err and "generated 6 tokens" in printed.err


def test_json(files: list[str], capsys: Capture) -> None:
    options = ["--prompt", " ".join(words(PROMPT)), "--temperature", "0", "--max-new-tokens", "4", "--json"]
    assert main(["generate", *files, *options]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["text"].split() == words(greedy(llama(), PROMPT, 4))
    assert (printed["prompt_tokens"], printed["generated_tokens"]) == (5, 4)


def test_the_prompt_and_the_seed(files: list[str], capsys: Capture) -> None:
    texts = []
    for seed in ("1", "1", "2"):
        options = ["--prompt", "w15 w2", "--echo", "--seed", seed, "--top-p", "1", "--temperature", "5"]
        assert main(["generate", *files, *options]) == 0
        texts.append(capsys.readouterr().out.split())
    assert texts[0] == texts[1] != texts[2]
    assert texts[0][:2] == ["w15", "w2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prompt", ""], "prompt"),
        (["--prompt", "w1", "--top-p", "2"], "top_p is 2.0"),
        (["--prompt", " ".join(["w1"] * 40)], "32"),
        (["--prompt", "w1", "--tokenizer", "absent.json"], "absent.json"),
        (["--prompt", "w1\udcff"], "the prompt is not UTF-8 text"),
    ],
)
def test_errors(files: list[str], options: list[str], message: str, capsys: Capture) -> None:
    assert main(["generate", *files, *options]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("rushlight: ") and message in printed


def test_a_program_that_is_no_language_model(files: list[str], capsys: Capture) -> None:
    Path(files[0]).write_bytes(with_metadata())
    assert main(["generate", *files, "--prompt", "w1"]) == 1
    assert "get_max_seq_len" in capsys.readouterr().err
