"""Measurements beside the peers: every system of a table is run in turn, in one session, and its outputs are checked."""
