"""Benchmarks. All systems of a table run in turn in one session, and their outputs are compared."""
