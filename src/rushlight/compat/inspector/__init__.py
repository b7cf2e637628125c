"""ExecuTorch's Inspector and its helper functions, implemented with Rushlight's Inspector."""
