"""``python -m benchmarks`` (or ``make bench``): all measurements."""

from benchmarks import turns

turns.main()
