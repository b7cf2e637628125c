"""Packs weights in the order in which microkernels read them."""
