"""Views of a program: operators and steps, data flow, modules, times and memory."""
