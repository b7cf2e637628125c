"""Emission: makes a program in memory from planned graphs."""
