"""`rushlight generate`: generates text with a language model."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rushlight.cli.arguments import (
    Commands,
    add_loading_options,
    at_least,
    check_no_bundled_program,
    count_text,
    load_libraries,
)
from rushlight.cli.interrupts import cancellable
from rushlight.llm import GenerationConfig, Stats, TextLLMRunner
from rushlight.runtime.errors import InvalidArgumentError


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "generate",
        help="generate text with a language model",
        description="Generates text with a language model. The generated text is printed to standard output "
        "token by token, and the speed to standard error.",
        epilog='example: rushlight generate model.pte --tokenizer tokenizer.json --prompt "Once upon a time"',
    )
    parser.add_argument("program", help="a .pte file")
    parser.add_argument(
        "--tokenizer",
        required=True,
        metavar="FILE",
        help="the tokenizer: a tokenizer.json file, or a model file of SentencePiece or tiktoken",
    )
    parser.add_argument(
        "--prompt",
        default="-",
        metavar="TEXT",
        help="the text to continue; - reads it from standard input (default: -)",
    )
    _add_generation_options(parser)
    add_loading_options(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON at the end: the text, the numbers of tokens and the times",
    )
    parser.set_defaults(command=run)


def _add_generation_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for a `GenerationConfig`; `_generation_config` reads them."""
    defaults = GenerationConfig()
    parser.add_argument(
        "--max-new-tokens",
        type=at_least(1),
        default=128,
        metavar="N",
        help="the largest number of generated tokens (default: 128)",
    )
    parser.add_argument(
        "--temperature",
        type=at_least(0.0),
        default=defaults.temperature,
        help="the temperature of sampling; 0 always chooses the most probable token "
        f"(default: {defaults.temperature})",
    )
    parser.add_argument(
        "--top-p",
        type=at_least(0.0),
        default=defaults.top_p,
        help="sample only from the most probable tokens, whose probabilities add up to this number "
        f"(default: {defaults.top_p})",
    )
    parser.add_argument(
        "--seed",
        type=at_least(0),
        help="the seed of the random numbers; the same seed generates the same text (default: a random seed)",
    )
    parser.add_argument(
        "--bos",
        action="store_true",
        help="insert the token for the beginning of a text (BOS) before the prompt",
    )
    parser.add_argument("--echo", action="store_true", help="also print the prompt")


def _generation_config(options: argparse.Namespace) -> GenerationConfig:
    return GenerationConfig(
        echo=options.echo,
        max_new_tokens=options.max_new_tokens,
        temperature=options.temperature,
        top_p=options.top_p,
        seed=options.seed,
        num_bos=int(options.bos),
    )


def run(options: argparse.Namespace) -> None:
    """Prints the generated text, the number of tokens and the tokens per second."""
    load_libraries(options)
    check_no_bundled_program(Path(options.program))
    runner = TextLLMRunner(options.program, options.tokenizer, options.data or None, threads=options.threads)
    config = _generation_config(options)
    prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError("the prompt is not UTF-8 text") from None
    pieces: list[str] = []
    stats: list[Stats] = []
    # With --json, the pieces of the text are collected. Otherwise, the runner prints each piece at once.
    token_callback = pieces.append if options.json else None
    cancellable(_Stop(runner), lambda _: runner.generate(prompt, config, token_callback, stats.append))
    if options.json:
        print(json.dumps({"text": "".join(pieces), **json.loads(stats[0].to_json_string())}))
    else:
        print(_summary(stats[0]), file=sys.stderr)


class _Stop:
    """Makes a runner cancellable: `cancel` ends the generation."""

    def __init__(self, runner: TextLLMRunner) -> None:
        self.cancel = runner.stop


def _summary(stats: Stats) -> str:
    """Returns one line with the numbers of tokens, the times in milliseconds and the tokens per second."""
    prompt_ms = stats.prompt_eval_end_ms - stats.inference_start_ms
    generation_ms = stats.inference_end_ms - stats.prompt_eval_end_ms
    return (
        f"load {stats.model_load_end_ms - stats.model_load_start_ms} ms; "
        f"prompt {count_text(stats.num_prompt_tokens, 'token')}, {prompt_ms} ms; "
        f"generated {count_text(stats.num_generated_tokens, 'token')}, {generation_ms} ms"
        + (f", {stats.num_generated_tokens / generation_ms * 1000:.1f} tokens/s" if generation_ms > 0 else "")
    )
