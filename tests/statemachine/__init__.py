"""The state machine: its graph, and the shipped file in both interpreters."""
