"""The graph of a program for viewers: operators and steps, data flow, modules, times and memory."""
