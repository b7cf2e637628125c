"""Passes over edge programs with the names of ExecuTorch's `backends.xnnpack._passes`.

`XnnpackBackend` needs none of them: it writes payloads from the edge program as it is.
"""
