"""One suite per port, run against both adapters."""
