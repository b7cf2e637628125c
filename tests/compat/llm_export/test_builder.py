"""`LLMEdgeManager`: the steps of a language model's export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.llm.tokenizer_files import hugging_face_model
from torch import nn

from rushlight.compat.llm_export.builder import DType, LLMEdgeManager
from rushlight.compat.llm_export.calibration import Calibration
from rushlight.compat.llm_export.partitioners import get_xnnpack_partitioner
from rushlight.compat.llm_export.quantizers import (
    DynamicQuantLinearOptions,
    PT2EQuantOptions,
    get_pt2e_quantizers,
)
from rushlight.runtime import Runtime

WORDS, WIDTH = 320, 16


class Model(nn.Module):
    """Returns logits (1, tokens, WORDS), or (1, WORDS) of the last token with `last`."""

    def __init__(self, last: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, WORDS)
        self.last = last

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        x = torch.tanh(self.inner(x)).permute(0, 2, 1).permute(0, 2, 1)
        logits = self.output(x)
        return logits[:, -1] if self.last else logits


class Cached(Model):
    """Adds the sum of the earlier tokens, which it keeps in a buffer."""

    sums: torch.Tensor

    def __init__(self) -> None:
        super().__init__(last=True)
        self.register_buffer("sums", torch.zeros(8, WIDTH))

    def forward(self, tokens: torch.Tensor, options: dict[str, torch.Tensor]) -> torch.Tensor:  # type: ignore[override]
        place = options["input_pos"]
        self.sums.index_copy_(0, place, self.embedding(tokens)[0])
        earlier = (torch.arange(8) <= place).float() @ self.sums
        return self.output(torch.tanh(self.inner(earlier[None])))


class Named(Cached):
    """Takes the position by keyword."""

    def forward(self, tokens: torch.Tensor, input_pos: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return super().forward(tokens, {"input_pos": input_pos})


def tokens(count: int) -> torch.Tensor:
    return torch.randint(0, WORDS, (1, count), generator=torch.Generator().manual_seed(count))


def manager(model: nn.Module | None = None, count: int = 6, **options: Any) -> LLMEdgeManager:
    options = {"generate_full_logits": True, "use_kv_cache": False, **options}
    model = Model() if model is None else model
    return LLMEdgeManager(model.eval(), "small", 16, example_inputs=(tokens(count),), **options)


def execute(path: str | Path, *inputs: Any, method: str = "forward") -> Any:
    return Runtime.get().load_program(path).load_method(method).execute(list(inputs))


def test_all_steps(tmp_path: Path) -> None:
    made = manager(metadata={"get_vocab_size": WORDS}).set_output_dir(str(tmp_path)).export()
    made.run_canonical_optimizations()
    targets = [str(node.target) for node in made.pre_autograd_graph_module.graph.nodes]  # type: ignore[union-attr]
    assert not any("permute" in target for target in targets)
    made.export_to_edge().to_backend([None, get_xnnpack_partitioner(False)]).to_executorch().save_to_pte("m")
    path = made.get_saved_pte_filename()
    assert path == str(tmp_path / "m.pte")
    (got,) = execute(path, tokens(6))
    torch.testing.assert_close(got, made.model(tokens(6)))
    assert execute(path, method="get_max_seq_len") == [16]
    assert execute(path, method="get_vocab_size") == [WORDS]


@pytest.mark.parametrize("lowers", [False, True])
def test_dynamic_numbers_of_tokens(lowers: bool, tmp_path: Path) -> None:
    made = manager(enable_dynamic_shape=True).set_output_dir(str(tmp_path)).export()
    if lowers:
        made.to_edge_transform_and_lower([get_xnnpack_partitioner(False)])
    else:
        made.export_to_edge()
    made.to_executorch().save_to_pte("m")
    for count in (1, 6, 15):
        (got,) = execute(tmp_path / "m.pte", tokens(count))
        torch.testing.assert_close(got, made.model(tokens(count)))


def test_quantization_with_the_example_inputs(tmp_path: Path) -> None:
    quantizers = get_pt2e_quantizers(PT2EQuantOptions(quantize_linear=DynamicQuantLinearOptions()))
    made = manager().set_output_dir(str(tmp_path)).export().pt2e_quantize(quantizers)
    made.to_edge_transform_and_lower([get_xnnpack_partitioner()]).to_executorch().save_to_pte("m")
    (got,) = execute(tmp_path / "m.pte", tokens(6))
    wanted = made.model(tokens(6))
    error = (got - wanted).abs().max()
    assert 0 < error < 0.05 * wanted.abs().max()


@pytest.mark.parametrize("kind", ["fixed", "dynamic", "cache", "keywords"])
def test_calibration_completes_a_text(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.json"
    hugging_face_model().save(str(path))
    options: dict[str, Any] = {
        "calibration_data": "once upon",
        "calibration_seq_length": 5,
        "tokenizer_path": str(path),
    }
    place = {"input_pos": torch.tensor([0])}
    if kind in ("fixed", "dynamic"):
        made = manager(enable_dynamic_shape=kind == "dynamic", **options)
    elif kind == "cache":
        made = LLMEdgeManager(Cached().eval(), "small", 8, True, (tokens(1), place), **options)
    else:
        made = LLMEdgeManager(
            Named().eval(), "small", 8, True, (tokens(1),), example_kwarg_inputs=place, **options
        )
    calls: list[int] = []
    logits = Calibration._logits

    def record(*args: Any) -> torch.Tensor:
        calls.append(args[3])
        return logits(*args)

    monkeypatch.setattr(Calibration, "_logits", record)
    quantizers = get_pt2e_quantizers(PT2EQuantOptions(quantize_linear=DynamicQuantLinearOptions()))
    made.export().pt2e_quantize(quantizers)
    assert calls == list(range(len(calls))) and 2 <= len(calls) <= 5
    targets = [str(node.target) for node in made.pre_autograd_graph_module.graph.nodes]  # type: ignore[union-attr]
    assert any("choose_qparams" in target for target in targets)


@pytest.mark.parametrize("lowers", [False, True])
def test_a_cache_with_one_token_for_each_call(lowers: bool, tmp_path: Path) -> None:
    place = {"input_pos": torch.tensor([0])}
    made = LLMEdgeManager(Cached().eval(), "small", 8, True, (tokens(1), place))
    made.set_output_dir(str(tmp_path)).export()
    if lowers:
        made.to_edge_transform_and_lower([get_xnnpack_partitioner(False)])
    else:
        made.export_to_edge()
    made.to_executorch().save_to_pte("m")
    method = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward")
    eager = Cached().eval()
    for position, token in enumerate(tokens(5)[0]):
        inputs = token.view(1, 1), torch.tensor([position])
        (got,) = method.execute(list(inputs))
        torch.testing.assert_close(got, eager(inputs[0], {"input_pos": inputs[1]}))


class Positions(Model):
    """Multiplies by the positions: the number of tokens may be dynamic. Two transposes are redundant."""

    def forward(self, tokens: torch.Tensor, options: dict[str, torch.Tensor]) -> torch.Tensor:  # type: ignore[override]
        places = options["input_pos"] + torch.arange(tokens.shape[1])
        x = self.embedding(tokens).transpose(1, 2).transpose(1, 2)
        return self.output(x * places[None, :, None].float())


@pytest.mark.parametrize("lowers", [False, True])
def test_dynamic_numbers_of_tokens_with_a_position(lowers: bool, tmp_path: Path) -> None:
    place = {"input_pos": torch.tensor([2])}
    made = LLMEdgeManager(
        Positions().eval(), "small", 8, True, (tokens(3), place), enable_dynamic_shape=True
    ).export()
    made.run_canonical_optimizations()
    if lowers:
        made.to_edge_transform_and_lower([get_xnnpack_partitioner(False)])
    else:
        made.export_to_edge()
    made.set_output_dir(str(tmp_path)).to_executorch().save_to_pte("m")
    for count in (1, 7):
        (got,) = execute(tmp_path / "m.pte", tokens(count), torch.tensor([4]))
        torch.testing.assert_close(got, made.model(tokens(count), {"input_pos": torch.tensor([4])}))


def test_dtypes(tmp_path: Path) -> None:
    made = manager().to_dtype(None).to_dtype(DType.fp16)
    assert made.dtype is DType.fp16
    assert {parameter.dtype for parameter in made.model.parameters()} == {torch.float16}
    assert DType.from_torch_dtype(DType.bf16.to_torch_dtype()) is DType.bf16
    with pytest.raises(ValueError, match=r"no member for torch\.float64"):
        DType.from_torch_dtype(torch.float64)
    with pytest.raises(AssertionError, match="needs a DType or None, not str"):
        made.to_dtype("fp16")  # type: ignore[arg-type]


def test_transforms_and_the_exported_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen = []

    def halve(module: nn.Module) -> nn.Module:
        seen.append(module)
        return module.half().float()

    made = manager(save_exported_program=True, verbose=True).source_transform([halve]).export()
    assert len(seen) == 1
    program = torch.export.load(tmp_path / "small.pt2")
    torch.testing.assert_close(program.module()(tokens(6)), made.model(tokens(6)))


def test_data_files(tmp_path: Path) -> None:
    made = manager().set_output_dir(str(tmp_path)).export_to_edge()
    made.to_executorch(external_constants_tag=lambda node: "weights").save_to_pte("m")
    assert (tmp_path / "weights.ptd").stat().st_size > WORDS * WIDTH * 8
    assert (tmp_path / "m.pte").stat().st_size < WORDS * WIDTH * 4


def test_steps_in_another_order() -> None:
    quantizers = get_pt2e_quantizers(PT2EQuantOptions(quantize_linear=DynamicQuantLinearOptions()))
    made = manager()
    with pytest.raises(AssertionError, match=r"call export\(\) first"):
        made.pt2e_quantize(quantizers)
    with pytest.raises(AssertionError, match=r"call export_to_edge\(\) first"):
        made.to_backend([get_xnnpack_partitioner()])
    with pytest.raises(AssertionError, match=r"call to_executorch\(\) first"):
        made.save_to_pte("m")
    with pytest.raises(AssertionError, match="needs a name"):
        made.save_to_pte("")
    made.export_to_edge()
    with pytest.raises(AssertionError, match=r"before export_to_edge\(\)"):
        made.pt2e_quantize(quantizers)
    assert made.get_saved_pte_filename() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibration_tasks": ["wikitext"]}, "does not calibrate with tasks of lm_eval"),
        ({"calibration_limit": 3}, "calibration_limit=3 has no effect"),
        ({"calibration_seq_length": 4}, "calibration_seq_length=4 needs calibration_data too"),
        (
            {"calibration_seq_length": 0, "calibration_data": "a", "tokenizer_path": "t"},
            "must be positive, not 0",
        ),
        ({"calibration_seq_length": 9, "calibration_data": "a", "tokenizer_path": "t"}, "of the model, 6"),
        (
            {
                "calibration_seq_length": 2,
                "calibration_data": "a",
                "tokenizer_path": "t",
                "use_kv_cache": True,
            },
            "needs the position of the token: a keyword input `input_pos`",
        ),
        (
            {
                "calibration_seq_length": 2,
                "calibration_data": "a",
                "tokenizer_path": "t",
                "generate_full_logits": False,
            },
            "needs generate_full_logits=True",
        ),
    ],
)
def test_calibrations_that_are_refused(options: dict[str, Any], message: str) -> None:
    quantizers = get_pt2e_quantizers(PT2EQuantOptions(quantize_linear=DynamicQuantLinearOptions()))
    with pytest.raises(ValueError, match=message):
        manager(**options).export().pt2e_quantize(quantizers)
