"""A reply with calls in its text, read in pieces."""

from parley.prompts.xml_calls import CallBegun, CallPiece, Part, TextCall, TextCalls


def parts_of(text: str, *sizes: int) -> list[list[Part]]:
    """What each piece of the text brings, and its end; ``sizes`` are those of the pieces, the last for all others."""
    reader = TextCalls()
    found: list[list[Part]] = []
    pieces = list(sizes) or [1]
    while text:
        size = pieces.pop(0) if len(pieces) > 1 else pieces[0]
        found.append(reader.feed(text[:size]))
        text = text[size:]
    return [*found, reader.finish()]


def read(text: str, *sizes: int) -> list[str | TextCall]:
    """What is found in the end, neighbouring texts joined; and that each call was begun before."""
    joined: list[str | TextCall] = []
    opened: str | None = None
    for part in (part for some in parts_of(text, *sizes) for part in some):
        match part:
            case CallBegun(name):
                assert opened is None
                opened = name
            case CallPiece(piece):
                assert opened is not None
                assert piece
            case TextCall():
                assert part.name == opened
                opened = None
                joined.append(part)
            case str() if joined and isinstance(joined[-1], str):
                joined[-1] += part
            case str():
                assert opened is None
                joined.append(part)
    assert opened is None
    return joined


def begun(name: str, arguments: str) -> list[Part]:
    """All that a call brings, told piece by piece."""
    return [CallBegun(name), CallPiece(arguments), TextCall(name, arguments)]
