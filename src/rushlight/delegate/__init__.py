"""Delegation: finds partitions of an edge program that a backend can run, and compiles them."""
