"""Emission: makes a program file, in memory, from planned graphs."""
