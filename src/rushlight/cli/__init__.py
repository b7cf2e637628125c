"""The `rushlight` command. Subcommands that compile or compare a model need torch, the others only numpy."""
