"""Delegation: parts of an edge program that a backend compiles and runs."""
