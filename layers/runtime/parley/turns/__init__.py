"""Use cases, one module per state or route, and the ports that they need."""
