"""Model providers: wire formats, addresses, one place for HTTP, and the scripted provider."""
