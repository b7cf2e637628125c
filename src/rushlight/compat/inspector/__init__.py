"""ExecuTorch's Inspector with the steps that it is made of, over the Inspector of Rushlight."""
