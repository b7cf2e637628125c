"""The CPU backend: plans made ahead of time, run by tiles."""
