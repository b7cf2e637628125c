"""Measurements beside the peers: the systems of a table run in turn, in one session; outputs are checked."""
