"""Parley: a durable runtime for AI-agent conversations, on AWS and on a laptop."""


def __getattr__(name: str) -> str:
    """``__version__``, looked up when somebody asks: it takes a third of the time in which a command starts."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - see above

    try:
        return version("parley-agents")
    except PackageNotFoundError:  # in a Lambda layer the package lies there without its metadata
        return "0.1.0"
