"""The commands among ExecuTorch's modules: `python -m rushlight.compat -m executorch.<module> ...`."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
from pathlib import Path

import rushlight
from rushlight.compat.inspector.inspector import Inspector
from rushlight.compat.pte_tool import diff_pte, format_diff_result
from rushlight.compat.size_analysis import generate_model_size_information
from rushlight.devtools.etrecord import parse_etrecord
from rushlight.devtools.inspector import TimeScale
from rushlight.devtools.inspector.results import compare_results


def inspector_main() -> None:
    """`devtools.inspector.inspector_cli`: prints the events of an ETDump, and compares recorded results."""
    scales = [scale.value for scale in TimeScale]
    parser = argparse.ArgumentParser()
    parser.add_argument("--etdump_path", required=True, help="the ETDump")
    parser.add_argument("--source_time_scale", choices=scales, default="ns", help="the unit in the ETDump")
    parser.add_argument("--target_time_scale", choices=scales, default="ms", help="the unit of the output")
    parser.add_argument("--etrecord_path", help="the ETRecord of the program")
    parser.add_argument("--debug_buffer_path", help="the file with the recorded elements of tensors")
    parser.add_argument("--tsv_path", help="also write the table to this file, as tab-separated values")
    parser.add_argument(
        "--compare_results", action="store_true", help="compare the results with those of the bundled program"
    )
    options = parser.parse_args()
    inspector = Inspector(
        etdump_path=options.etdump_path,
        etrecord=options.etrecord_path,
        debug_buffer_path=options.debug_buffer_path,
        source_time_scale=TimeScale(options.source_time_scale),
        target_time_scale=TimeScale(options.target_time_scale),
    )
    inspector.print_data_tabular()
    if options.tsv_path:
        inspector.save_data_to_tsv(options.tsv_path)
    for block in inspector.event_blocks if options.compare_results else []:
        if block.name == "Execute":
            compare_results(block.reference_output or [], block.run_output or [], plot=True)


def generate_csv(etdump_path: str, output: str) -> None:
    """Writes the events of an ETDump as a table of comma-separated values.

    Args:
        etdump_path: the ETDump.
        output: the file to write.
    """
    Inspector(etdump_path).to_dataframe().to_csv(output)


def csv_main() -> None:
    """`devtools.scripts.generate_profiling_csv`: writes the events of an ETDump as a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--etdump_path", default="./model.etdump", help="the ETDump")
    parser.add_argument("--output", default="./model_profiling.csv", help="the file to write")
    options = parser.parse_args()
    generate_csv(options.etdump_path, options.output)
    print(f"{options.output} has the events of {options.etdump_path}")


def size_main() -> None:
    """`devtools.size_analysis_tool.size_analysis_tool`: writes the sizes of the programs of an ETRecord."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--etrecord_path", required=True, help="the ETRecord")
    parser.add_argument("--output_path", default="model_size_information.json", help="the file to write")
    options = parser.parse_args()
    programs = parse_etrecord(options.etrecord_path).graph_map or {}
    sizes = [generate_model_size_information(program) for program in programs.values()]
    Path(options.output_path).write_text(json.dumps(sizes))


def diff_main() -> None:
    """`devtools.pte_tool.diff_pte`: prints the differences between two program files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file_a", help="a .pte file")
    parser.add_argument("file_b", help="the .pte file to compare with it")
    parser.add_argument("-v", "--verbose", action="store_true", help="print more details")
    parser.add_argument("--max-samples", type=int, default=10, help="the most differing elements per tensor")
    options = parser.parse_args()
    a, b = (Path(path).read_bytes() for path in (options.file_a, options.file_b))
    found = diff_pte(a, b, options.file_a, options.file_b, max_samples=options.max_samples)
    print(format_diff_result(found, verbose=options.verbose))


def environment_main() -> None:
    """`util.collect_env`: prints the versions of the packages, the system and the processor."""
    import torch.utils.collect_env

    print(torch.utils.collect_env.get_pretty_env_info())
    print(f"Rushlight: {rushlight.__version__}")
    for package in ("torchao", "executorch"):
        try:
            print(f"{package}: {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"{package}: not installed")
    print(f"Processors of this process: {os.cpu_count()}")
