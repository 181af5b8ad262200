"""Values and rules of conversations. Pure: no I/O, no clock, no randomness of its own."""
