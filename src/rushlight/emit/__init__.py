"""Planned graphs as program files in memory."""
