"""Text from text: the same tokens as eager PyTorch, all options, and every reason to stop."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.llm.programs import CONTEXT, END, Words, greedy, llama, text, text_program, with_metadata

from rushlight.llm import GenerationConfig, Stats, TextLLMRunner, Tokenizer
from rushlight.runtime.errors import (
    CancelledError,
    FileMissingError,
    InvalidArgumentError,
    InvalidProgramError,
    InvalidStateError,
)

PROMPT = [15, 2, 26, 10, 3, 11, 29, 33, 28, 35]


def runner(kind: str = "started", tokenizer: Any = None) -> TextLLMRunner:
    return TextLLMRunner(text_program(kind), tokenizer or Words())


def config(**options: Any) -> GenerationConfig:
    return GenerationConfig(**{"echo": False, "temperature": 0, **options})


def words(tokens: list[int]) -> str:
    return Words().decode(tokens)


@pytest.mark.parametrize("kind", ["started", "positions", "single", "forgetful"])
@pytest.mark.parametrize("prompt", [[5], [9], PROMPT])
def test_greedy_tokens_are_eagers(kind: str, prompt: list[int]) -> None:
    expected = greedy(llama(), prompt, 12)
    assert len(set(expected)) > 3
    pieces: list[str] = []
    runner(kind).generate(words(prompt), config(max_new_tokens=12), pieces.append)
    assert pieces == [words([token]) for token in expected if token != END]


def test_half_logits() -> None:
    expected = text(greedy(llama(), PROMPT, 6))
    assert runner("half").generate_text(words(PROMPT), config(max_new_tokens=6)) == expected


def test_calls_continue_the_text() -> None:
    whole = runner().generate_text(words(PROMPT), config(max_new_tokens=9))
    parts = runner()
    found = parts.generate_text(words(PROMPT), config(max_new_tokens=4))
    found += parts.generate_text("", config(max_new_tokens=5))
    assert found == whole == text(greedy(llama(), PROMPT, 9))


def test_a_later_prompt_follows_the_generated_text() -> None:
    chat = runner()
    first = greedy(llama(), PROMPT, 4)
    assert END not in first
    chat.generate(words(PROMPT), config(max_new_tokens=4), lambda piece: None)
    expected = greedy(llama(), [*PROMPT, *first, 13, 17], 5)
    assert chat.generate_text(words([13, 17]), config(max_new_tokens=5)) == text(expected)


def test_prefill_reads_a_prompt() -> None:
    chat = runner()
    chat.prefill(words(PROMPT[:3]))
    chat.prefill(words(PROMPT[3:6]))
    expected = text(greedy(llama(), PROMPT, 5))
    assert chat.generate_text(words(PROMPT[6:]), config(max_new_tokens=5)) == expected
    chat.reset()
    chat.prefill(words(PROMPT))
    assert chat.generate_text("", config(max_new_tokens=5)) == expected


def test_reset_empties_the_context() -> None:
    chat = runner()
    first = chat.generate_text(words(PROMPT), config(max_new_tokens=5))
    assert chat.generate_text(words(PROMPT), config(max_new_tokens=5)) != first
    chat.reset()
    assert chat.generate_text(words(PROMPT), config(max_new_tokens=5)) == first
    chat.reset()
    with pytest.raises(InvalidArgumentError, match="the prompt has no tokens, and the context is empty"):
        chat.generate("", config())


def test_reset_gives_a_recurrent_model_its_first_state() -> None:
    chat = runner("recurrent")
    first = chat.generate_text(words(PROMPT), config(max_new_tokens=5))
    chat.reset()
    assert chat.generate_text(words(PROMPT), config(max_new_tokens=5)) == first
    chat.prefill(words(PROMPT[:1]))  # the result depends on the state
    assert chat.generate_text(words(PROMPT), config(max_new_tokens=5)) != first


class Ending(Words):
    """A tokenizer whose end token is a token that the model generates."""

    def __init__(self, end: int) -> None:
        self.eos_id = end  # type: ignore[assignment]


def test_ends_of_the_tokenizer() -> None:
    generated = greedy(llama(), PROMPT, 6)
    end = generated[3]
    assert end not in generated[:3]
    stats: list[Stats] = []
    pieces: list[str] = []
    runner(tokenizer=Ending(end)).generate(words(PROMPT), config(), pieces.append, stats.append)
    assert pieces == [words([token]) for token in generated[:3]]
    assert stats[0].num_generated_tokens == 4


def test_ends_of_the_program() -> None:
    prompt = next(
        [first, second]
        for first in range(40)
        for second in range(40)
        if greedy(llama(), [first, second], 2)[-1] == END
    )
    expected = greedy(llama(), prompt, 2)
    assert runner().generate_text(words(prompt), config(max_new_tokens=9)) == text(expected)


def test_the_context_is_the_limit() -> None:
    stats: list[Stats] = []
    chat = runner()
    chat.generate(words([5]), config(), lambda piece: None, stats.append)
    expected = greedy(llama(), [5], CONTEXT - 1)
    assert stats[0].num_generated_tokens == len(expected)
    chat.reset()
    chat.generate(words([5]), config(seq_len=7), lambda piece: None, stats.append)
    assert stats[1].num_generated_tokens == len(greedy(llama(), [5], 6))


def test_echo_and_tokens_for_the_beginning_and_the_end() -> None:
    stats: list[Stats] = []
    pieces: list[str] = []
    runner().generate(
        "w5 w9", config(echo=True, num_bos=2, num_eos=1, max_new_tokens=3), pieces.append, stats.append
    )
    assert pieces[0] == "w5 w9"
    assert "".join(pieces[1:]) == text(greedy(llama(), [1, 1, 5, 9, END], 3))
    assert stats[0].num_prompt_tokens == 5


def test_text_is_printed_without_a_callback(capsys: pytest.CaptureFixture[str]) -> None:
    expected = text(greedy(llama(), PROMPT, 3))
    runner().generate(words(PROMPT), config(max_new_tokens=3))
    assert capsys.readouterr().out == expected + "\n"
    runner().generate(words(PROMPT), config(max_new_tokens=3, warming=True))
    assert capsys.readouterr().out == ""


def test_a_seed_repeats_the_text() -> None:
    def generate(seed: int) -> str:
        return runner().generate_text("w5", config(temperature=5.0, top_p=1.0, max_new_tokens=20, seed=seed))

    assert generate(1) == generate(1) != generate(2)


def test_statistics() -> None:
    stats: list[Stats] = []
    runner().generate(words(PROMPT), config(max_new_tokens=5), lambda piece: None, stats.append)
    (found,) = stats
    assert found.num_prompt_tokens == len(PROMPT)
    assert found.num_generated_tokens == len(greedy(llama(), PROMPT, 5))
    assert 0 < found.model_load_start_ms <= found.model_load_end_ms <= found.inference_start_ms
    assert found.inference_start_ms <= found.token_encode_end_ms <= found.prompt_eval_end_ms
    assert found.prompt_eval_end_ms <= found.first_token_ms <= found.inference_end_ms
    assert found.execution_ns > 0 and found.sampling_ns > 0
    assert found.model_execution_start_ms <= found.model_execution_end_ms <= found.inference_end_ms


def test_stop_from_the_callback() -> None:
    chat = runner()
    pieces: list[str] = []

    def give(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 3:
            chat.stop()

    chat.generate(words(PROMPT), config(), give)
    assert len(pieces) == 3
    found = "".join(pieces) + chat.generate_text("", config(max_new_tokens=2))
    assert found == text(greedy(llama(), PROMPT, 5))


@pytest.mark.threads
def test_stop_from_another_thread() -> None:
    chat = runner()
    begun, stopped = threading.Event(), threading.Event()

    def stop() -> None:
        begun.wait()
        chat.stop()
        stopped.set()

    def give(piece: str) -> None:
        pieces.append(piece)
        begun.set()
        stopped.wait()

    thread = threading.Thread(target=stop)
    thread.start()
    pieces: list[str] = []
    chat.generate(words(PROMPT), config(), give)
    thread.join()
    assert len(pieces) == 1


def test_stop_while_the_prompt_is_read() -> None:
    """The context does not change."""
    chat = runner()
    first = chat.generate_text(words(PROMPT), config(max_new_tokens=4))

    class Stopping(Words):
        def encode(self, text: str) -> list[int]:
            chat.stop()
            return super().encode(text)

    usual, chat.tokenizer = chat.tokenizer, Tokenizer(Stopping())
    assert chat.generate_text("w1 w2 w3", config()) == ""
    with pytest.raises(CancelledError):
        chat.prefill("w1 w2 w3")
    chat.tokenizer = usual
    found = first + chat.generate_text("", config(max_new_tokens=3))
    assert found == text(greedy(llama(), PROMPT, 7))


def test_errors_of_callbacks_leave_a_usable_runner() -> None:
    chat = runner()

    def fail(piece: str) -> None:
        raise LookupError(piece)

    with pytest.raises(LookupError):
        chat.generate(words(PROMPT), config(), fail)
    rest = chat.generate_text("", config(max_new_tokens=3))
    assert text(greedy(llama(), PROMPT, 1)) + rest == text(greedy(llama(), PROMPT, 4))


def test_one_call_at_a_time() -> None:
    chat = runner()
    with pytest.raises(InvalidStateError, match="another call uses this runner"):
        chat.generate(words(PROMPT), config(), lambda piece: chat.prefill("w1"))
    with pytest.raises(InvalidStateError, match="another call uses this runner"):
        chat.generate("", config(), lambda piece: chat.reset())
    chat.reset()


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        (
            [5] * 40,
            {},
            "the prompt has 40 tokens, and 0 are in the context, but the context of the model has at most 32",
        ),
        ([5], {"max_new_tokens": 0}, "no token may be generated: max_new_tokens is 0"),
        ([5] * 32, {}, "and 32 of the 32 positions of the context are occupied"),
        ([5] * 6, {"seq_len": 4}, "seq_len 4, and 6 of the 32 positions"),
        ([77], {}, "the prompt has the token 77, but the model has 40 tokens"),
        ([5], {"temperature": -1}, "temperature is -1"),
    ],
)
def test_what_is_refused_leaves_the_context(prompt: list[int], options: Any, message: str) -> None:
    chat = runner()
    with pytest.raises(InvalidArgumentError, match=message):
        chat.generate(words(prompt), config(**options))
    assert chat.generate_text("w5", config(max_new_tokens=3)) == text(greedy(llama(), [5], 3))


def test_a_full_context() -> None:
    chat = runner()
    chat.prefill(words([5] * 30))
    with pytest.raises(InvalidArgumentError, match="has 3 tokens, and 30 are in the context.*call reset"):
        chat.generate(words([5] * 3), config())
    chat.prefill(words([5] * 2))
    with pytest.raises(InvalidArgumentError, match="32 of the 32 positions of the context are occupied"):
        chat.generate("", config())


def test_a_token_that_nobody_names() -> None:
    chat = TextLLMRunner(with_metadata(get_max_seq_len=8), Words())
    with pytest.raises(InvalidArgumentError, match=r"num_bos is 1, but neither the program \(get_bos_id\)"):
        chat.generate("w1", config(num_bos=1))
    with pytest.raises(InvalidArgumentError, match=r"num_eos is 2, but neither the program \(get_eos_ids\)"):
        chat.prefill("w1", config(num_eos=2))


def test_the_vocabulary() -> None:
    assert runner().get_vocab_size() == 40
    assert TextLLMRunner(with_metadata(get_max_seq_len=8), Words()).get_vocab_size() == -1
    assert repr(runner()) == "<TextLLMRunner>"


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(text_program("started"))
    found = TextLLMRunner(str(path), Words(), threads=1).generate_text("w5", config(max_new_tokens=2))
    assert found == text(greedy(llama(), [5], 2))
    with pytest.raises(FileMissingError, match="nothing.pte"):
        TextLLMRunner(tmp_path / "nothing.pte", Words())
    with pytest.raises(FileMissingError, match="nothing.json"):
        TextLLMRunner(path, tmp_path / "nothing.json")
    path.write_bytes(text_program("started")[:100])
    with pytest.raises(InvalidProgramError):
        TextLLMRunner(path, Words())
