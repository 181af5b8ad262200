"""``python -m benchmarks`` (or ``make bench``): all measurements."""

from benchmarks import relay, turns

turns.main()
relay.main()
