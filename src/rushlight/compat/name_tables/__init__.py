"""Tables of the names of ExecuTorch, by package; `rushlight.compat.names` joins them."""
