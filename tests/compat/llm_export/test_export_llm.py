"""The command that exports a language model: its arguments, and its YAML file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rushlight.compat.llm_export import export_llm
from rushlight.compat.llm_export.config import LlmConfig, ModelType, PreqMode, Pt2eQuantize


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LlmConfig]:
    """The configurations of the exports, in a folder of its own, where Hydra writes a log."""
    monkeypatch.chdir(tmp_path)
    found: list[LlmConfig] = []
    monkeypatch.setattr(export_llm, "export_llama", found.append)
    return found


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["export_llm", *arguments])
    export_llm.main()


def test_a_file_and_arguments(
    monkeypatch: pytest.MonkeyPatch, exported: list[LlmConfig], tmp_path: Path
) -> None:
    pytest.importorskip("hydra")
    (tmp_path / "options.yaml").write_text(
        """
base: {model_class: llama2, preq_mode: preq_8da4w}
quantization: {pt2e_quantize: xnnpack_dynamic}
model: {use_kv_cache: true, local_global_attention: [8, 0]}
export: {max_seq_length: 32}
"""
    )
    run(monkeypatch, "--config", "options.yaml", "base.model_class=stories110m", "export.max_seq_length=64")
    (config,) = exported
    assert isinstance(config, LlmConfig) and config.base.model_class is ModelType.stories110m
    assert config.base.preq_mode is PreqMode.preq_8da4w and config.model.local_global_attention == [8, 0]
    assert (
        config.quantization.pt2e_quantize is Pt2eQuantize.xnnpack_dynamic
        and config.export.max_seq_length == 64
    )


def test_arguments_alone(monkeypatch: pytest.MonkeyPatch, exported: list[LlmConfig]) -> None:
    pytest.importorskip("hydra")
    run(monkeypatch, "debug.verbose=True")
    expected = LlmConfig()
    expected.debug.verbose = True
    assert exported == [expected]
    run(monkeypatch, "backend.xnnpack.enabled=True")
    assert exported[1].backend.xnnpack.enabled and not exported[1].debug.verbose


def test_the_file_is_removed_from_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["--config", "a.yaml"], ["--config=a.yaml"]):
        monkeypatch.setattr(sys, "argv", ["export_llm", "first=1", *arguments, "last=2"])
        assert export_llm.pop_config_arg() == "a.yaml" and sys.argv == ["export_llm", "first=1", "last=2"]
    assert export_llm.parse_config_arg() == (None, ["first=1", "last=2"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("quantization.qmode=8da4x", "there is no qmode '8da4x'; the modes are int8"),
        ("+model.use_kv_cahce=true", "Key 'use_kv_cahce' not in 'ModelConfig'"),
    ],
)
def test_an_invalid_option_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, exported: list[LlmConfig], tmp_path: Path, option: str, message: str
) -> None:
    pytest.importorskip("hydra")
    (tmp_path / "options.yaml").write_text("model: {use_kv_cache: true}\nquantization: {qmode: int8}\n")
    with pytest.raises(SystemExit, match=message):
        run(monkeypatch, "--config", "options.yaml", option)
    assert not exported


def test_the_help_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        run(monkeypatch, "--help")
    text = capsys.readouterr().out
    assert text.startswith("usage: export_llm ") and "`--cfg job`" in text


def test_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hydra", None)
    with pytest.raises(ImportError, match="pip install hydra-core"):
        run(monkeypatch)
