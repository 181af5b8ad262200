"""The function protocol: how a team writes functions that agents may call."""
