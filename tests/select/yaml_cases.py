"""A YAML file of kernels that several tests read."""

from __future__ import annotations

ADD = """
- op: add.out
  type_alias:
    T0: [Float, Double]
    T1: [Int]
  dim_order_alias:
    D0: [0, 1, 2, 3]
    D1: [0, 2, 3, 1]
  kernels:
    - arg_meta: null
      kernel_name: torch::executor::add_out
    - arg_meta:
        self: [T0, D0]
        other: [T0, D0]
        out: [T0, D0]
      kernel_name: mine::add_contiguous
    - arg_meta:
        self: [T1, D1]
        other: [T0, D0]
        out: [T0, D1]
      kernel_name: mine::add_mixed
"""
