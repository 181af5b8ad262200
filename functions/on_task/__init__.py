"""Handlers of the state machine's Task states, one module per state."""
