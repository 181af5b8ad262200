"""``python -m benchmarks`` (or ``make bench``): all measurements."""

from benchmarks import long, page, relay, soak, turns

turns.main()
relay.main()
page.main()
long.main()
soak.main()
