"""Prevents all systems from using AVX-512 on a processor that has it.

A program may use AVX-512 only if the operating system saves its registers. The instruction xgetbv returns the
saved registers (Intel SDM, volume 1, 15.2). In copies of the peers' libraries, other instructions replace
xgetbv and return the registers of AVX only. Torch and Rushlight have environment variables for this purpose.
Features that the libraries detect with cpuid only, such as AVX-VNNI, stay enabled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.process import PEERS

PACKAGES = ("onnxruntime", "openvino", "ai_edge_litert", "executorch")
_XGETBV = b"\x0f\x01\xd0"
_X87_SSE_AVX = b"\x6a\x07\x58"  # push 7; pop rax


def keep_from_avx512(folder: Path) -> None:
    """Sets environment variables for all systems, and writes patched copies of packages into `folder`.

    Raises:
        RuntimeError: a package has no xgetbv instruction.
        FileNotFoundError: objdump is not installed.
    """
    environment = PEERS.parents[1]
    packages = next((environment / "lib").glob("python3*")) / "site-packages"
    installed = (environment / ".installed").stat().st_mtime
    for name in PACKAGES:
        done = folder / f"{name}.done"
        if not done.exists() or done.stat().st_mtime < installed:
            shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(packages / name, folder / name)
            if not sum(_patch(path) for path in (folder / name).rglob("*.so*")):
                raise RuntimeError(f"{name} has no instruction xgetbv, so that AVX-512 cannot be disabled")
            done.touch()
    has_vnni = "avx_vnni" in Path("/proc/cpuinfo").read_text().split()
    os.environ |= {
        "PYTHONPATH": str(folder),
        "RUSHLIGHT_ISA": "avxvnni" if has_vnni else "avx2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2_VNNI" if has_vnni else "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    }


def _patch(path: Path) -> int:
    """Replaces the instructions in a file, and returns their number."""
    code = bytearray(path.read_bytes())
    if not code.startswith(b"\x7fELF") or _XGETBV not in code:
        return 0
    places = list(_file_offsets(path))
    for place in places:
        assert code[place : place + 3] == _XGETBV
        code[place : place + 3] = _X87_SSE_AVX
    path.write_bytes(code)
    return len(places)


def _file_offsets(path: Path) -> Iterator[int]:
    """Returns the file offsets of xgetbv. A disassembler finds it: other instructions contain its bytes."""
    with subprocess.Popen(["objdump", "-dwF", path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = offset = 0
        for line in process.stdout:
            if (
                line.endswith(":\n") and "(File Offset: " in line
            ):  # 0000000000001000 <f> (File Offset: 0x1000):
                address, offset = int(line.split()[0], 16), int(line.split("(File Offset: ")[1][:-3], 16)
            elif "\txgetbv" in line:  # "    1004:\t0f 01 d0             \txgetbv"
                yield int(line.split(":")[0], 16) - address + offset
    if process.returncode:
        raise RuntimeError(f"objdump cannot read {path.name}")
