"""Parley: a durable runtime for AI-agent conversations, on AWS and on a laptop."""
