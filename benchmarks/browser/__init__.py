"""MobileNetV2 in a browser, beside onnxruntime-web and tfjs-backend-wasm: `python -m benchmarks.browser`."""
