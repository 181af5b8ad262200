"""How large a stored item may be: DynamoDB's bound, which the store on a laptop keeps too."""

from __future__ import annotations

from typing import Final

from parley.turns.ports import Item

# With attribute names. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
MAX_ITEM_BYTES: Final = 400 * 1024
_OTHER_ATTRIBUTES: Final = 512
"""Room for attribute names, numbers and the write id."""
_WIDEST_CHARACTER: Final = 4


class ItemTooLarge(Exception):
    """A program tried to store what belongs into a blob. Trying again is of no use."""


def check_size(item: Item) -> None:
    """Raises ItemTooLarge if no store may take ``item``."""
    texts = [item.body, item.partition, item.sort, *(item.due or ()), *(item.listed or ())]
    room = MAX_ITEM_BYTES - _OTHER_ATTRIBUTES
    if sum(map(len, texts)) * _WIDEST_CHARACTER <= room:
        return  # the usual case, without encoding anything
    size = sum(len(text.encode()) for text in texts)
    if size > room:
        raise ItemTooLarge(
            f"{item.partition} / {item.sort} would take {size} bytes of at most {room}: use a blob"
        )
