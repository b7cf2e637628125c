"""Weights in the order in which microkernels read them."""
