"""`python -m benchmarks.http`: the queue over HTTP, against the same store used directly.

A server in a process of its own on SQLite, a client in this one. Three measures: single claim-and-complete pairs;
batches of 50, over HTTP and directly; and agents that wait: what they cost, and how soon a new task reaches one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec
import uvloop

import dibs
from benchmarks import machine, report
from benchmarks.bench import Bench, temporary_folder
from benchmarks.children import python, running
from benchmarks.findings import Figure, Findings, Floor
from dibs.model.ended import Ended

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from benchmarks.children import Child
    from dibs.queue import Queue

TOKEN = "dibs_token_of_the_benchmarks_0123456789"
CONNECTIONS = 16
"""Agents that ask for one task at a time."""
BATCH = 50
FEW = 4
"""Agents that ask for batches."""
WAITING = 200
_HEAD = f"Host: bench\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n".encode()


class Sizes(msgspec.Struct, frozen=True):
    """How much is measured."""

    pairs: int = 10_000
    batched: int = 50_000
    pings: int = 200
    idle_s: float = 10.0


TINY = Sizes(pairs=500, batched=2_000, pings=20, idle_s=1.0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", choices=("tiny", "full"), default="full")
    parser.add_argument("--folder", help="where the stores are made; a disk, not memory")
    parser.add_argument("--results", help="keep the tables in this folder")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a bound is missed")
    parser.add_argument("--serve", nargs=2, metavar=("URL", "PORT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        uvloop.run(serve(options.serve[0], int(options.serve[1])))
        return 0
    with temporary_folder(options.folder) as folder:
        bench = Bench(folder, runs=options.runs, sizes=Sizes() if options.size == "full" else TINY)
        bench.mind_the_load()
        found = measured(bench)
        about = {
            **report.when(options.runs, options.size),
            **machine.describe(folder),
            "versions": f"dibs {dibs.__version__}, litestar {machine.version_of('litestar')},"
            f" uvicorn {machine.version_of('uvicorn')}",
            "server": "one process on SQLite, synchronous=FULL; uvicorn with httptools and uvloop",
            "client": f"one process; {CONNECTIONS} connections for pairs, {FEW} for batches, {WAITING} that wait",
        }
    table = report.markdown(found, about)
    print(table, end="")
    kept_in = report.results_folder(options, whole=True)
    if kept_in is not None:
        (kept_in / "http.md").write_text(f"# dibs over HTTP\n\n{table}", encoding="utf-8")
        (kept_in / "http.json").write_text(report.to_json(found, about), encoding="utf-8")
    return int(options.check and not all(floor.met for floor in found.floors))


def measured(bench: Bench[Sizes]) -> Findings:
    sizes = bench.sizes
    pairs = bench.repeat("pairs over HTTP", lambda: over_http(bench, sizes.pairs, 1, CONNECTIONS))
    alone = bench.repeat("pairs directly", lambda: directly(bench, sizes.pairs, 1, CONNECTIONS))
    batched = bench.repeat(f"batches of {BATCH} over HTTP", lambda: over_http(bench, sizes.batched, BATCH, FEW))
    direct = bench.repeat(f"batches of {BATCH} directly", lambda: directly(bench, sizes.batched, BATCH, FEW))
    waits = [waiting(bench) for _ in range(bench.runs)]
    figures = [
        Figure("claim and complete, one at a time, over HTTP", "tasks/s", pairs),
        Figure("claim and complete, one at a time, directly", "tasks/s", alone),
        Figure(f"claim and settle, {BATCH} at a time, over HTTP", "tasks/s", batched),
        Figure(f"claim and settle, {BATCH} at a time, directly", "tasks/s", direct),
        Figure(f"a new task reaches one of {WAITING} that wait, p50", "ms", tuple(each[0] for each in waits)),
        Figure(f"processor time while {WAITING} wait and nothing happens", "%", tuple(each[1] for each in waits)),
    ]
    floors = [
        Floor("pairs over HTTP", figures[0].value, 1_000, unit="tasks/s"),
        Floor(f"batches of {BATCH}: over HTTP / directly", figures[2].value / figures[3].value, 0.4),
        Floor("a new task reaches one that waits, p50", figures[4].value, 50, at_least=False, unit="ms"),
        Floor("processor time while nothing happens", figures[5].value, 2, at_least=False, unit="%"),
    ]
    return Findings(figures, floors)


# The server


async def serve(url: str, port: int) -> None:
    """The server process: any token of ours is an admin's."""
    import uvicorn

    from dibs.model.role import Role
    from dibs.server.app import create_app
    from dibs.server.callers import Caller
    from dibs.server.settings import Settings

    class Anybody:
        async def identify(self, secret: str) -> Caller | None:
            return Caller(name="bench", role=Role.ADMIN) if secret == TOKEN else None

        async def record(self, caller: Caller | None, act: str, target: str, outcome: str) -> None:
            pass

    async with dibs.connect(url) as queue:
        app = create_app(queue, authority=Anybody(), settings=Settings(requests_per_s=None))
        config = uvicorn.Config(app, port=port, log_level="warning", access_log=False, loop="none", ws="none")
        await uvicorn.Server(config).serve()


def with_server(bench: Bench[Sizes], work: Callable[[Child, int], Coroutine[Any, Any, Any]]) -> Any:
    """A fresh store and server, and what is done with it."""
    folder = bench.fresh_folder("http")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = python("-m", "benchmarks.http", "--serve", f"sqlite:{folder}/queue.db", str(port))
    with running(argv, folder) as child:
        wait_for(port, child)
        return uvloop.run(work(child, port))


def wait_for(port: int, child: Child) -> None:
    while True:
        child.check()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


# The client


class Line:
    """One connection that is kept: as little of a client as will do, so that the server is what is measured."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, path: str, body: Any) -> None:
        data = msgspec.json.encode(body)
        self._writer.write(
            b"POST %s HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (path.encode(), _HEAD, len(data), data)
        )

    async def answer(self) -> Any:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
        body = await self._reader.readexactly(size)
        if head.split(b" ", 2)[1] not in (b"200", b"201"):
            raise RuntimeError(body.decode())
        return msgspec.json.decode(body)

    async def ask(self, path: str, body: Any) -> Any:
        self.send(path, body)
        return await self.answer()


async def dial(port: int) -> Line:
    return Line(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 26))


def over_http(bench: Bench[Sizes], count: int, batch: int, agents: int) -> float:
    """Tasks per second, claimed and completed."""

    async def work(child: Child, port: int) -> float:
        first = await dial(port)
        for start in range(0, count, 1_000):
            some = range(start, min(count, start + 1_000))
            await first.ask("/v1/tasks/batch", {"tasks": [{"type": "bench", "payload": {"n": n}} for n in some]})
        lines = [await dial(port) for _ in range(agents)]
        started = time.perf_counter()
        done = await asyncio.gather(*(drain(line, f"agent-{n}", batch) for n, line in enumerate(lines)))
        assert sum(done) == count, (sum(done), count)
        return count / (time.perf_counter() - started)

    return float(with_server(bench, work))


async def drain(line: Line, agent: str, batch: int) -> int:
    done = 0
    while claims := (await line.ask("/v1/claims", {"agent": agent, "limit": batch}))["claims"]:
        done += len(claims)
        if batch == 1:
            task_id, fence = claims[0]["task"]["id"], claims[0]["fence"]
            await line.ask(f"/v1/tasks/{task_id}/complete", {"fence": fence, "output": {"ok": True}})
            continue
        ended = [
            {"task_id": each["task"]["id"], "fence": each["fence"], "outcome": "completed", "output": {"ok": True}}
            for each in claims
        ]
        await line.ask("/v1/outcomes", {"outcomes": ended})
    return done


def directly(bench: Bench[Sizes], count: int, batch: int, agents: int) -> float:
    """The same on the same store, without a server."""
    folder = bench.fresh_folder("direct")

    async def work() -> float:
        async with dibs.connect(f"sqlite:{folder}/queue.db") as queue:
            for start in range(0, count, 1_000):
                some = range(start, min(count, start + 1_000))
                await queue.add_many([dibs.NewTask("bench", {"n": n}) for n in some])
            started = time.perf_counter()
            done = await asyncio.gather(*(drain_directly(queue, f"agent-{n}", batch) for n in range(agents)))
            assert sum(done) == count
            return count / (time.perf_counter() - started)

    return float(uvloop.run(work()))


async def drain_directly(queue: Queue, agent: str, batch: int) -> int:
    done = 0
    while claims := await queue.claim(agent, limit=batch):
        done += len(claims)
        if batch == 1:
            await queue.complete(claims[0], {"ok": True})
            continue
        known = {(claim.task.id, claim.fence): claim for claim in claims}
        ended = [Ended(task_id=id, fence=fence, outcome="completed", output={"ok": True}) for id, fence in known]
        await queue.settle_outcomes(ended, known=known)
    return done


def waiting(bench: Bench[Sizes]) -> tuple[float, float]:
    """With many that wait: milliseconds until a new task reaches one, and percent of a processor while nothing
    happens."""

    async def work(child: Child, port: int) -> tuple[float, float]:
        lines = [await dial(port) for _ in range(WAITING)]
        for number, line in enumerate(lines):
            line.send("/v1/claims", {"agent": f"agent-{number}", "wait": 60})
        await asyncio.sleep(2)
        idle = await busy_while(child.pid, lambda: asyncio.sleep(bench.sizes.idle_s))
        producer = await dial(port)
        answers = {asyncio.ensure_future(line.answer()): line for line in lines}
        took = []
        for number in range(bench.sizes.pings):
            started = time.perf_counter()
            await producer.ask("/v1/tasks", {"type": "bench", "payload": number})
            done, _ = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
            took.append(1_000 * (time.perf_counter() - started))
            [answer] = done
            [claim] = answer.result()["claims"]
            assert claim["task"]["payload"] == number
            line = answers.pop(answer)
            line.send("/v1/claims", {"agent": claim["agent"], "wait": 60})
            answers[asyncio.ensure_future(line.answer())] = line
            await asyncio.sleep(0.02)
        for answer in answers:
            answer.cancel()
        return median(took), idle

    found = with_server(bench, work)
    bench.say(f"waiting: {found[0]:.2f} ms to reach one of {WAITING}, {found[1]:.2f} % of a processor when idle")
    return float(found[0]), float(found[1])


async def busy_while(pid: int, what: Callable[[], Awaitable[None]]) -> float:
    """Percent of one processor that a process used meanwhile."""
    before, started = processor_s(pid), time.perf_counter()
    await what()
    return 100 * (processor_s(pid) - before) / (time.perf_counter() - started)


def processor_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
