"""Parley's tests. What several suites share lies in tests.support."""
