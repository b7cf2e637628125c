"""Converts a torch.export program to an edge program."""
