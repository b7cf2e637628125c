"""The features of Whisper, as a module and as a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from rushlight.compat import audio
from rushlight.runtime import Runtime


@pytest.mark.parametrize(
    ("options", "shapes"),
    [
        ({"chunk_length": 1}, {300: (1, 80, 100), 20000: (1, 80, 200)}),
        ({"chunk_length": 1, "stack_output": True, "feature_size": 128}, {20000: (2, 128, 100)}),
        ({"streaming": True}, {1600: (1, 80, 10), 20000: (1, 80, 125)}),
    ],
)
def test_programs(options: dict[str, Any], shapes: dict[int, tuple[int, ...]], tmp_path: Path) -> None:
    path = tmp_path / "new" / "features.pte"
    audio.export_processor(str(path), max_audio_len=4, **options)
    model = audio.WhisperAudioProcessor(**options)
    method = Runtime.get().load_program(path).load_method("forward")
    for samples, shape in shapes.items():
        waveform = torch.sin(torch.arange(samples) / 8) + torch.randn(samples) / 8
        (features,) = method.execute([waveform])
        assert features.shape == shape
        torch.testing.assert_close(features, model(waveform), rtol=1e-4, atol=1e-4)


def test_filters() -> None:
    """The first bands and the last one have their peaks at Slaney's frequencies, which librosa also uses."""
    filters = audio.WhisperAudioProcessor().mel_filters
    assert filters.shape == (80, 201)
    torch.testing.assert_close(filters[0, :3], torch.tensor([0, 0.0248626, 0]), atol=1e-6, rtol=0)
    torch.testing.assert_close(filters[1, :3], torch.tensor([0, 0.0019908, 0.0228718]), atol=1e-6, rtol=0)
    peaks = filters.argmax(dim=1) * 40
    assert peaks[:3].tolist() == [40, 80, 120] and peaks[-1] == 7680


def test_refused_options() -> None:
    with pytest.raises(ValueError, match="whole chunks"):
        audio.WhisperAudioProcessor(streaming=True, stack_output=True)
    with pytest.raises(ValueError, match="mlx"):
        audio.export_processor(backend="mlx")


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "features.pte")
    arguments = ["--feature_size", "8", "--chunk_length", "1", "--max_audio_len", "2", "--output_file", path]
    monkeypatch.setattr("sys.argv", ["mel_spectrogram", *arguments])
    audio.main()
    (features,) = Runtime.get().load_program(path).load_method("forward").execute([torch.zeros(16000)])
    assert features.shape == (1, 8, 100)
