"""Tables of ExecuTorch's names, one for each package. `rushlight.compat.names` combines the tables."""
