"""Handlers with the events that AWS would send."""
