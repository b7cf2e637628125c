"""Random modules in every configuration, compared with eager PyTorch: `python -m tests.torture`."""
