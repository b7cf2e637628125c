"""Writes a program as plain C99: direct calls, weights as const arrays, planned memory as static arrays."""
