"""Passes for several backends, as in ExecuTorch's `backends.transforms`.

The passes support graphs of the edge dialect and of the ATen dialect. Unless their docstrings say otherwise,
they do not change the given graph; they return the new graph, and whether it differs.
"""
