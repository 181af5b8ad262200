"""Events as a server would send them to the command line."""

TOKEN = "x.eyJzdWIiOiAiZGV2In0.y"  # {"sub": "dev"}


def event(seq, name="StreamMessageChunk", /, *, thread="t-1", turn=1, subthread=None, parent=None, **data):
    return {
        "event": name,
        "thread_id": thread,
        "subthread_id": subthread,
        "parent_thread_id": parent,
        "seq": seq,
        "turn": turn,
        "data": data,
    }
