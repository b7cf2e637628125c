"""MobileNetV2 in a browser, with three systems: `python -m benchmarks.browser`."""
