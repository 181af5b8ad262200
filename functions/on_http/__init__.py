"""The HTTP API: routes are declared once, here."""
