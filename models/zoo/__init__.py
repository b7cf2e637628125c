"""The model zoo: small models with random weights, which are compiled and compared with eager PyTorch."""
