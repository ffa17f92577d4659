# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy in a thread, which can reset or stall all connections."""
import asyncio
import socket
import struct
import threading


class TcpProxy:
    """Forwards connections to a port of this machine."""

    def __init__(self, target):
        self.target, self.refuses, self.pairs = target, False, set()
        self.loop = asyncio.new_event_loop()
        self.flows = None
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.port = self.call(self.listen())

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    async def listen(self):
        self.flows = asyncio.Event()
        self.flows.set()
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        if self.refuses:
            return reset(writer)
        await self.flows.wait()
        try:
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:  # the target is down
            return reset(writer)
        pair = (writer, back_writer)
        self.pairs.add(pair)
        await asyncio.gather(self.pump(reader, back_writer), self.pump(back_reader, writer))
        self.pairs.discard(pair)

    async def pump(self, reader, writer):
        """Forwards bytes until one of the two ends closes."""
        try:
            while data := await reader.read(1 << 16):
                await self.flows.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    async def change(self, refuses, flows):
        self.refuses = refuses
        if flows:
            self.flows.set()
        else:
            self.flows.clear()
        if refuses:
            for pair in self.pairs:
                for writer in pair:
                    reset(writer)
            self.pairs.clear()

    def reset(self):
        """Resets all connections, and every new one until heal()."""
        self.call(self.change(True, True))

    def stall(self):
        """Holds all bytes back until heal()."""
        self.call(self.change(False, False))

    def heal(self):
        self.call(self.change(False, True))

    def close(self):
        async def end():
            self.server.close()
            await self.change(True, True)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
        self.call(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


def reset(writer):
    """Closes a connection with RST instead of FIN."""
    end = writer.get_extra_info("socket")
    if end is not None and end.fileno() >= 0:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
