"""The backends. They import the packages for delegation and quantization, but never each other."""
