"""Passes on edge programs, as in ExecuTorch's `backends.xnnpack._passes`.

`XnnpackBackend` does not use these passes. They exist for code that imports them.
"""
