"""Helpers that several test suites share; no test lies here."""
