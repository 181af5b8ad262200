"""The pictures of the scripted provider: one plain colour per prompt, as a PNG, for tests and demonstrations."""

from __future__ import annotations

import hashlib
import struct
import zlib

from parley.turns.model_ports import Image

_SIDE = 64
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DEPTH, _TRUE_COLOUR = 8, 2


def picture(prompt: str) -> Image:
    """A small square; the same prompt gives the same one. Form: https://www.w3.org/TR/png-3/"""
    colour = hashlib.sha256(prompt.encode("utf-8", "replace")).digest()[:3]
    unfiltered = b"\x00"
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, _DEPTH, _TRUE_COLOUR, 0, 0, 0)
    pixels = zlib.compress((unfiltered + colour * _SIDE) * _SIDE)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")
    return Image(_SIGNATURE + chunks, "image/png")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
