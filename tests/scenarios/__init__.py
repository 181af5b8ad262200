"""Whole conversations, on both backends."""
