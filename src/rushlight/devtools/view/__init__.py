"""What a program looks like: its operators and steps, their data flow, modules, times and memory."""
