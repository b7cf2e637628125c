"""Emission: converts planned graphs to a program in memory."""
