"""Measurements, in seconds and counts; never part of the test suite."""
