"""Memory planning: gives every tensor of a graph its place in memory."""
