"""``python -m benchmarks`` (or ``make bench``): all measurements."""

from benchmarks import long, relay, soak, turns

turns.main()
relay.main()
long.main()
soak.main()
