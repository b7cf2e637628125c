"""Packs weights into the order in which microkernels read them."""
