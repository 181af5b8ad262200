"""The backend for one machine: SQLite, folders and threads instead of AWS services."""
