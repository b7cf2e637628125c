"""Packages (.ptn) of ExecuTorch's native backend. Rushlight writes and reads packages; it has no runtime."""
