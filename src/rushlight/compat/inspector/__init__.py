"""ExecuTorch's Inspector and its steps, built on Rushlight's Inspector."""
