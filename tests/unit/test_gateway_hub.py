import asyncio
import threading

import pytest

from parley.embedded.gateway_socket import IDLE_SECONDS, LIFE_SECONDS
from parley.embedded.sockets import QUEUED_CHARACTERS, QUEUED_FRAMES, SocketHub
from parley.turns.ports import ConnectionGone


def run(scenario):
    async def bound():
        hub = SocketHub()
        hub.bind(asyncio.get_running_loop())
        async with asyncio.timeout(10):
            return await scenario(hub)

    return asyncio.run(bound())


class Client:
    """A connection with a sender that keeps what it sends, until the hub closes it."""

    def __init__(self, hub, wanted):
        self.frames = []
        self.arrived = asyncio.Event()
        self.wanted = wanted
        self.connection = hub.open("c", 0.0)
        self.sender = asyncio.ensure_future(self.connection.send_frames(self.send))

    async def send(self, frame):
        self.frames.append(frame)
        if len(self.frames) == self.wanted:
            self.arrived.set()


def test_frames_of_many_threads_arrive_whole_and_each_threads_in_order():
    async def scenario(hub):
        client = Client(hub, wanted=800)

        def post(name):
            for number in range(100):
                hub.post("c", f"{name}-{number}")

        threads = [threading.Thread(target=post, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        await client.arrived.wait()
        for name in range(8):
            mine = [frame for frame in client.frames if frame.startswith(f"{name}-")]
            assert mine == [f"{name}-{number}" for number in range(100)]
        client.sender.cancel()

    run(scenario)


def test_a_burst_wakes_the_loop_once():
    async def scenario(hub):
        loop = asyncio.get_running_loop()
        wakes = []

        class Counting:
            def call_soon_threadsafe(self, callback):
                wakes.append(callback)
                loop.call_soon_threadsafe(callback)

        hub.bind(Counting())
        client = Client(hub, wanted=50)
        await asyncio.sleep(0)
        for number in range(50):
            hub.post("c", str(number))
        await client.arrived.wait()
        assert len(wakes) == 1
        client.sender.cancel()

    run(scenario)


def test_a_frame_for_a_connection_that_is_not_there_says_so():
    async def scenario(hub):
        client = Client(hub, wanted=1)
        hub.forget(client.connection)
        with pytest.raises(ConnectionGone):
            hub.post("c", "x")
        with pytest.raises(ConnectionGone):
            hub.post("never", "x")
        assert len(hub) == 0
        client.sender.cancel()

    run(scenario)


@pytest.mark.parametrize(("size", "room"), [(1, QUEUED_FRAMES), (32_000, QUEUED_CHARACTERS // 32_000)])
def test_a_client_that_does_not_read_gets_what_there_was_room_for_and_is_hung_up_on(size, room):
    async def scenario(hub):
        client = Client(hub, wanted=room)
        frames = [f"{number:08d}".ljust(size, ".")[-size:] for number in range(room + 5)]
        for frame in frames:
            hub.post("c", frame)
        assert client.connection.dropped == 5
        assert (await client.sender).code == 1013
        assert client.frames == frames[:room]
        assert client.connection.queued == 0

    run(scenario)


def test_nothing_is_sent_behind_a_frame_that_was_dropped():
    async def scenario(hub):
        client = Client(hub, wanted=1)
        hub.post("c", "first")
        hub.post("c", "x" * (QUEUED_CHARACTERS + 1))
        hub.post("c", "behind it")
        assert (await client.sender).code == 1013
        assert client.frames == ["first"]

    run(scenario)


def test_idle_and_old_connections_are_closed_after_what_is_queued():
    async def scenario(hub):
        client = Client(hub, wanted=1)
        assert hub.end_overdue(IDLE_SECONDS - 1) == 0
        hub.post("c", "last")
        assert hub.end_overdue(IDLE_SECONDS) == 1
        assert (await client.sender).code == 1001
        assert client.frames == ["last"]

    run(scenario)

    async def old(hub):
        client = Client(hub, wanted=1)
        client.connection.active_at = LIFE_SECONDS - 1
        assert hub.end_overdue(LIFE_SECONDS) == 1
        assert (await client.sender).reason == "Going away"

    run(old)
