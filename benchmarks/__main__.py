"""python -m benchmarks [latency|xnnpack|compile|chains|call ...]: prints what the README quotes."""

from __future__ import annotations

import argparse

from benchmarks import chains, compile_time, latency, python_call, xnnpack


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", nargs="*", help="latency, xnnpack, compile, chains, call; all if none")
    parser.add_argument("--models", nargs="+", default=["mobilenet_v2"])
    parser.add_argument(
        "--systems",
        nargs="+",
        default=["rushlight_kernels", "rushlight_xnnpack", "executorch_xnnpack", "executorch_portable"],
    )
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    what = options.what or ["latency", "xnnpack", "compile", "chains", "call"]
    if "latency" in what:
        for model in options.models:
            for threads in options.threads:
                print(
                    latency.table(latency.measure(model, options.systems, threads, options.rounds)),
                    flush=True,
                )
    if "xnnpack" in what:
        for table in xnnpack.tables(options.threads, options.rounds):
            print(table, flush=True)
    if "compile" in what:
        print(compile_time.table(options.models), flush=True)
    if "chains" in what:
        print(chains.table(), flush=True)
    if "call" in what:
        print(python_call.table(), flush=True)


if __name__ == "__main__":
    main()
