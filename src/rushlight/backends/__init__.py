"""Backends. They use delegation and quantization, and never import each other."""
