"""Memory planning: assigns each tensor of a graph an offset in a memory."""
