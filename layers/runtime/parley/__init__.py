"""Parley: a durable runtime for AI-agent conversations, on AWS and on a laptop."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("parley-agents")
except PackageNotFoundError:  # in a Lambda layer the package lies there without its metadata
    __version__ = "0.1.0"
