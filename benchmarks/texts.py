"""The texts of docs/benchmarks.md and README.md between the tables, for `benchmarks.report`."""

from __future__ import annotations

HEAD = """# Benchmarks

This page compares the time, memory and file size of Rushlight with those of ExecuTorch with XNNPACK,
ONNX Runtime, OpenVINO, LiteRT and torch.compile. `python -m benchmarks.report` writes it from the files
in `benchmarks/figures`. `make bench` and `make bench-avx2` repeat the measurements and write these files.
Run the commands in a clone of the repository.

![Time of Rushlight divided by the time of the fastest other runtime](benchmarks.svg)

## Method

- All systems run in turn in one session. Each system has a process of its own. A time is the median of
  single calls with batch 1, in milliseconds.
- A *ratio* is the time of Rushlight divided by the time of the fastest other system. A value below 1
  means that Rushlight is faster.
- *Rushlight, highest* is `rushlight.compile` with its defaults: full float32. *Rushlight, high* is
  `rushlight.compile(..., float32_matmul_precision="high")`; see
  [Precision of float32](cpu-backend.md#precision-of-float32). *Rushlight + XNNPACK* uses the
  [XNNPACK backend](xnnpack.md) instead of the CPU backend. An empty cell means that there is no figure.
- A float32 system counts for the ratio only if its outputs differ from those of eager PyTorch by at most
  {tolerance:.0e} of the largest magnitude. OpenVINO is set to float32, because its default on this
  processor is bfloat16.
- Weights are random, and the input images are enlarged digits of scikit-learn. The image networks of the
  int8 tables are trained on these digits (`python -m benchmarks.training`), because in a random network
  every rounding changes the index of the largest output. Training, calibration and test use different
  digits, which are the same for all systems.
- Machine: {machine}. Other users share this machine, so the ratios are more reliable than the times.
"""
WITHOUT_AVX512 = """## Without AVX-512

These ratios are for the same processor, but no system uses AVX-512. Rushlight and torch have a switch for
it. The other libraries are patched so that they do not detect it (`benchmarks/without_avx512.py`).
Machine: {machine}.
"""
KIND = {False: "", True: " int8"}

BEGIN = "<!-- `python -m benchmarks.report` writes this paragraph: -->\n"
END = "<!-- end of the paragraph -->\n"
FURTHER = (
    "[{count} further networks](docs/benchmarks.md#networks-that-rushlight-is-not-tuned-for), for which "
    "Rushlight is not tuned, were measured in float32 on an older processor with {instructions}. Their "
    "ratios of processor times are between {low:.2f} and {high:.2f}.\n"
)

FIELD = """## Networks that Rushlight is not tuned for

The table shows the networks of `models/field`. They come from torchvision, timm, transformers and this
project, and run in float32 with one thread. `python -m benchmarks.wide` measures them. Other programs ran on
the machine during the measurement. The ratio of processor times is therefore more reliable than the ratio of
times. Machine: {machine}. Other systems: {systems}.
"""

FIELD_AMX = """### On a processor of Intel

The same networks on a processor of Intel with AVX-512 and AMX, in float32, which does not use AMX. Machine:
{machine}. Other systems: {systems}. The ratios are those of processor times for one thread, and those of
times for two threads.
"""

FAMILIES = """### Further families of timm

The table shows ratios of processor times with one thread: in float32 for one small network of each further
family of timm, and in int8 for other small networks. `python -m benchmarks.wide --models timm:NAME` measures
any network of timm. Machine: {machine}.
Other systems: ONNX Runtime, OpenVINO.
"""

BATCHES = """### Batches

These networks have larger batches. They are measured in the same way.
"""
INT8_FIELD = """### int8

These networks have weights and activations in int8. `python -m benchmarks.wide --int8` measures them.
Machine: {machine}. The
column *to float32* is the ratio to the processor time of Rushlight for the same network in float32. *Same
result* is the share of {samples} inputs for which the index of the largest output is that of eager PyTorch
in float32, for Rushlight and for the fastest other system. Most weights are random, so that rounding easily
changes this index.
"""
INT8_AMX = """### int8 with AMX

The same for a processor of Intel with AMX, which Rushlight and the other systems use. Machine: {machine}.
"""
THROUGHPUT = """## Several callers

Several threads call a network at the same time. Each thread has its own method (in other systems: session
or interpreter), which uses one thread. The columns of the other systems show their calls per second divided
by those of Rushlight: a value below 1 means that Rushlight is faster. `python -m benchmarks.throughput`
measures this table. Machine: {machine}.
"""
SHAPES = """## Dynamic sizes

One program with a dynamic size runs with each of these sizes (sequence length or image size). *Ratio to one
size* is its time divided by that of a Rushlight program for this size alone. The columns of the other
systems show the time of Rushlight divided by that of their programs with a dynamic size.
`python -m benchmarks.shapes` measures this table. Machine: {machine}.
"""
