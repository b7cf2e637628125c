"""Backends: users of delegation and quantization, never of each other."""
