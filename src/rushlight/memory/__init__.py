"""Memory planning: gives every tensor of a graph an offset in a memory."""
