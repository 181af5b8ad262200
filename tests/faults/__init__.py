"""Workers that die, signals that are lost: nothing of a conversation may be."""
