"""Generation of text from text: `TextLLMRunner`."""

from __future__ import annotations

from rushlight.llm.config import GenerationConfig
from rushlight.llm.conversation import Part
from rushlight.llm.metadata import Metadata
from rushlight.llm.models import Model, TextModel
from rushlight.llm.runner import Runner, StatsCallback, TokenCallback
from rushlight.runtime import Program


class TextLLMRunner(Runner):
    """Generates text with a program whose method `forward(tokens, position)` returns logits.

    A call continues the text of earlier calls, until `reset` is called.

    See `Runner` for the arguments.
    """

    def _load_model(self, program: Program, metadata: Metadata) -> Model:
        return TextModel(program, metadata)

    def generate(
        self,
        prompt: str,
        config: GenerationConfig | None = None,
        token_callback: TokenCallback | None = None,
        stats_callback: StatsCallback | None = None,
    ) -> None:
        """Reads a prompt and generates text.

        Args:
            prompt: the text to continue. An empty prompt continues the text in the context.
            config: the options; None means the defaults of `GenerationConfig`.
            token_callback: receives each piece of text. Without it, the text is printed.
            stats_callback: receives the times and counts at the end.

        Raises:
            InvalidArgumentError: the prompt is too long, the prompt and the context are empty, or an option
                is invalid.
            InvalidStateError: another call uses the runner.
            RushlightError: the execution of the model failed.
        """
        config = config or GenerationConfig()
        self._generate(lambda: self._parts(prompt, config), prompt, config, token_callback, stats_callback)

    def generate_text(self, prompt: str, config: GenerationConfig | None = None) -> str:
        """Returns the text that `generate` would pass to its callback.

        Args:
            prompt: the text to continue.
            config: the options; None means the defaults of `GenerationConfig`.

        Raises:
            RushlightError: see `generate`.
        """
        pieces: list[str] = []
        self.generate(prompt, config, pieces.append)
        return "".join(pieces)

    def prefill(self, prompt: str, config: GenerationConfig | None = None) -> None:
        """Reads a prompt, such as the history of a chat, without generating text.

        Args:
            prompt: the text.
            config: `num_bos` and `num_eos` are the numbers of BOS and EOS tokens to add; None adds none.

        Raises:
            RushlightError: see `generate`.
            CancelledError: another thread called `stop`.
        """
        config = config or GenerationConfig()
        config.check()
        self._prefill(lambda: self._parts(prompt, config))

    def _parts(self, prompt: str, config: GenerationConfig) -> list[Part]:
        tokens = self.tokenizer.encode(prompt) if prompt else []
        return [Part(self._framed(tokens, config.num_bos, config.num_eos))]
