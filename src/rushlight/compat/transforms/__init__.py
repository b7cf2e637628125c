"""Passes that backends share, with the names of ExecuTorch's `backends.transforms`.

They take graphs of the edge dialect and of torch, leave what they are given as it is, and say whether they
changed it.
"""
