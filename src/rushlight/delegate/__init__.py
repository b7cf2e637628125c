"""Delegation: finds parts of an edge program that a backend runs, and compiles them."""
