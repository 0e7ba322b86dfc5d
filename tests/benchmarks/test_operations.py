"""The measures `slow` and `hot`: each operation runs, comparisons are reckoned right. No time is asserted."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from benchmarks import __main__ as program
from benchmarks.children import environment
from benchmarks.operations import cpu_time, hot, interval, places, slow, suite
from benchmarks.operations.operation import amount_of, worded
from benchmarks.operations.performing import TREE, Version, working_tree
from benchmarks.operations.places import Place
from benchmarks.operations.proxy import Proxy
from benchmarks.operations.tables import Found, Taken, amount, judged, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from benchmarks.operations.operation import Operation

# Runs


def ran(measure: str, folder: Path, *arguments: str) -> Any:
    """What a tiny run of a measure kept."""
    command = ["-m", "benchmarks", "--only", measure, "--size", "tiny", "--runs", "1", "--results", str(folder)]
    subprocess.run([sys.executable, *command, *arguments], check=True, capture_output=True, env=environment())
    return json.loads((folder / f"{measure}.json").read_text())


@pytest.mark.parametrize(
    ("measure", "operations"), [("slow", slow.OPERATIONS), ("hot", hot.OPERATIONS)], ids=["slow", "hot"]
)
def test_a_tiny_run_has_a_figure_for_each_operation(
    measure: str, operations: Sequence[Operation], tmp_path: Path
) -> None:
    kept = ran(measure, tmp_path, "--store", "memory,sqlite")
    assert kept["failed"] == []
    figures = {(figure["place"], figure["operation"]): figure for figure in kept["figures"]}
    assert set(figures) == {
        (place, worded(one, "tiny"))
        for place in ("memory", "SQLite")
        for one in operations
        if place == "SQLite" or not one.by_shell
    }
    for figure in figures.values():
        [wall], [cpu] = figure["wall"][TREE], figure["cpu"][TREE]
        assert wall > 0
        assert cpu > 0


def test_two_versions_take_turns_and_each_operation_gets_a_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = working_tree()
    monkeypatch.setattr(suite, "at_ref", lambda ref, say: Version("ref", tree.python, tree.source))
    arguments = ["--only", "hot", "--store", "memory", "--size", "tiny", "--against", "HEAD", "--pairs", "2"]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments, "--results", str(tmp_path)])
    assert program.main() == 0
    kept = json.loads((tmp_path / "hot-against.json").read_text())
    assert [figure["operation"] for figure in kept["figures"]] == ["add", "claim", "settle", "renew"]
    assert all(len(samples) == 2 for figure in kept["figures"] for samples in figure["cpu"].values())
    assert [floor["bound"] for floor in kept["floors"]] == [1.03] * 4
    assert "the ratio of the working tree to HEAD" in capsys.readouterr().out


class Told:
    """Stands for a process that measures: notes when it is asked."""

    def __init__(self, who: str, asked: list[str]) -> None:
        self.who = who
        self.asked = asked

    def sample(self, size: str) -> dict[str, float]:
        self.asked.append(self.who)
        return {"wall": 4.0, "cpu": 1.0, "server": 2.0}


def taken_at(place: Place, runs: int) -> tuple[Taken, list[str]]:
    asked: list[str] = []
    performers: Any = {who: Told(who, asked) for who in (TREE, "ref")}
    return suite._taken(place, performers, runs, "tiny"), asked


def test_who_begins_changes_with_every_pair() -> None:
    _, asked = taken_at(Place("memory", fresh_nowhere), 3)
    assert asked == [TREE, "ref", "ref", TREE, TREE, "ref"]


def test_the_cpu_time_of_an_operation_is_the_clients_and_the_servers() -> None:
    taken, _ = taken_at(Place("memory", fresh_nowhere), 1)
    assert taken.pairs == [(3.0, 3.0)]


def test_wall_time_stands_for_the_cpu_time_of_a_server_that_cannot_be_seen() -> None:
    taken, _ = taken_at(Place("Redis", fresh_nowhere, server=None, has_server=True), 1)
    assert taken.pairs == [(4.0, 4.0)]


def fresh_nowhere() -> Callable[[str], str]:
    return lambda who: "memory:"


@pytest.mark.parametrize("operation", [*slow.OPERATIONS, *hot.OPERATIONS], ids=lambda operation: operation.name)
def test_no_size_leaves_an_operation_without_work(operation: Operation) -> None:
    full, tiny = amount_of(operation, "full"), amount_of(operation, "tiny")
    assert full == (operation.times, operation.width)
    assert 1 <= tiny.times <= full.times
    assert min(10, full.width) <= tiny.width <= full.width


# Judgement


def found(measure: str, name: str, *cpu: tuple[float, float]) -> Found:
    """A comparison of one operation on SQLite, by its pairs."""
    result = Found(measure, "full", "main")
    sides = {TREE: [one for one, _ in cpu], "ref": [other for _, other in cpu]}
    result.taken["SQLite", name] = Taken(sides, sides)
    return result


@pytest.mark.parametrize(("measure", "met", "missed"), [("hot", 1.029, 1.031), ("slow", 1.199, 1.201)])
def test_the_upper_end_of_a_ratio_is_held_to_the_bound_of_its_measure(measure: str, met: float, missed: float) -> None:
    for ratio, kept in ((met, True), (missed, False)):
        [(_, floor)] = judged(found(measure, "add", (ratio, 1.0), (ratio, 1.0)))
        assert floor.met is kept


def test_a_mean_below_the_bound_is_missed_where_nobody_can_be_sure() -> None:
    [(_, floor)] = judged(found("hot", "add", (1.0, 1.0), (1.04, 1.0), (0.98, 1.0)))
    assert not floor.met


def test_a_start_of_the_shell_is_held_to_milliseconds_not_to_a_ratio() -> None:
    [(_, floor)] = judged(found("hot", hot.SHELL, (0.054, 0.050), (0.054, 0.050)))
    assert (floor.unit, floor.met) == ("ms", True)
    assert floor.value == pytest.approx(4.0)


def test_a_bound_that_is_missed_is_marked_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert not show(found("slow", "answer", (0.003, 0.002), (0.003, 0.002)), {}, None)
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| answer")]
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        *("answer", "SQLite", "3,000 µs", "2,000 µs", "1.500", "1.500 – 1.500", "≤ 1.2", "MISSED")
    ]


def test_an_operation_that_the_other_version_cannot_do_is_told_and_is_no_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = Found("slow", "full", "v1")
    result.failed["SQLite", "answer"] = "ref", "AttributeError: no answer"
    assert show(result, {}, None)
    assert "- SQLite: answer failed (ref): AttributeError: no answer" in capsys.readouterr().out
    result.failed["SQLite", "review"] = TREE, "RuntimeError: it broke"
    assert not show(result, {}, None)


def test_seconds_are_said_in_the_unit_that_reads_best() -> None:
    assert [amount(seconds) for seconds in (0.000_012, 0.009_999, 0.01, 1.5)] == [
        *("12 µs", "9,999 µs", "10.0 ms", "1,500.0 ms")
    ]


# Intervals


def test_the_interval_of_a_mean_is_students() -> None:
    here = interval.interval([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.776 * math.sqrt(2.5) / math.sqrt(5)
    assert here == pytest.approx((3.0, 3.0 - half, 3.0 + half))


def test_a_ratio_and_its_reverse_are_as_sure_as_each_other() -> None:
    pairs = [(2.0, 1.0), (1.0, 2.0), (3.0, 2.0)]
    there, back = interval.ratio(pairs), interval.ratio([(other, one) for one, other in pairs])
    assert there.mean == pytest.approx((2.0 * 0.5 * 1.5) ** (1 / 3))
    assert there == pytest.approx((1 / back.mean, 1 / back.upper, 1 / back.lower))


def test_a_difference_is_between_pairs_not_between_means() -> None:
    assert interval.difference([(11.0, 10.0), (101.0, 100.0), (6.0, 5.0)]) == pytest.approx((1.0, 1.0, 1.0))


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.706), (14, 2.145), (30, 2.042), (31, 2.040), (120, 1.980)])
def test_students_quantiles_are_those_of_the_books(freedom: int, quantile: float) -> None:
    assert interval.student(freedom) == pytest.approx(quantile, abs=0.002)


# CPU time


def process(proc: Path, pid: int, parent: int, ticks: int, nanoseconds: Sequence[int] = ()) -> None:
    """What the kernel would say of a process: one number of nanoseconds for each of its threads."""
    folder = proc / str(pid)
    for thread, spent in enumerate(nanoseconds):
        (folder / "task" / str(pid + thread)).mkdir(parents=True)
        (folder / "task" / str(pid + thread) / "schedstat").write_text(f"{spent} 77 3\n")
    folder.mkdir(exist_ok=True)
    (folder / "stat").write_text(f"{pid} (a (strange) name) S {parent} {'0 ' * 9}{ticks} 0 0 0 20 0 1 0 9\n")


def test_the_cpu_time_of_a_server_is_that_of_its_process_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_time, "PROC", tmp_path)
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    process(tmp_path, 10, 1, 0, [1_500_000_000, 500_000_000])
    process(tmp_path, 11, 10, 50)
    process(tmp_path, 12, 11, 7)
    process(tmp_path, 13, 1, 900)
    (tmp_path / "uptime").write_text("not a process")
    assert cpu_time.spent_by(10) == {10: 2.0, 11: 0.5, 12: 0.07}


def test_between_two_looks_a_process_may_come_or_go() -> None:
    assert cpu_time.between({1: 5.0, 2: 9.0}, {1: 6.5, 3: 0.25}) == 1.75


def test_where_there_is_no_proc_nobody_can_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_time, "PROC", tmp_path / "nowhere")
    assert not cpu_time.can_tell(1)
    assert not cpu_time.can_tell(None)


# The proxy


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets, then what stands for the end."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        line, _ = listener.accept()
        with line:
            while data := line.recv(1 << 16):
                line.sendall(data)
            line.sendall(b"end")

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    thread.join()
    listener.close()


def read_all(line: socket.socket) -> bytes:
    parts = []
    while part := line.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def test_the_proxy_passes_all_bytes_in_order_and_the_end_of_each_direction(echo: int) -> None:
    sent = b"".join(number.to_bytes(4, "big") for number in range(250_000))
    with Proxy("127.0.0.1", echo, 0.001) as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as line:

        def send() -> None:
            line.sendall(sent)
            line.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        assert read_all(line) == sent + b"end"
        sender.join()


def test_a_round_trip_through_the_proxy_takes_its_delay(echo: int) -> None:
    with Proxy("127.0.0.1", echo, 0.04) as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as line:
        for _ in range(3):
            started = time.monotonic()
            line.sendall(b"?")
            assert line.recv(1) == b"?"
            assert time.monotonic() - started >= 0.04


def test_the_proxy_ends_a_connection_that_its_server_does_not_take() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with Proxy("127.0.0.1", port, 0.001) as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as line:
        assert line.recv(1) == b""


def test_a_url_leads_through_the_proxy_with_all_else_unchanged(echo: int) -> None:
    with places._away(f"postgresql://me:secret@127.0.0.1:{echo}/one") as moved:
        there = moved(f"postgresql://me:secret@127.0.0.1:{echo}/other?schema=tree")
        assert there.startswith("postgresql://me:secret@127.0.0.1:")
        assert there.endswith("/other?schema=tree")
        assert f":{echo}/" not in there
        with socket.create_connection(("127.0.0.1", int(there.split(":")[-1].split("/")[0]))) as line:
            line.shutdown(socket.SHUT_WR)
            assert read_all(line) == b"end"


# Bad use


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--against", "HEAD"], "--against compares operations only: add --only slow, --only hot or --only slow,hot"),
        (["--against", "HEAD", "--only", "slow,drain"], "--against compares operations only"),
        (["--only", "slow", "--pairs", "5"], "--pairs is for --against"),
        (["--only", "slow", "--against", "HEAD", "--pairs", "1"], "--pairs must be at least 2"),
        (["--only", "slow", "--store", "oracle"], "--store: no oracle; there are memory, sqlite, postgres, redis"),
        (["--only", "drain", "--store", "memory"], "no measure drain on memory; there are: hot slow"),
        (["--only", "hot", "--store", "sqlite", "--server", "redis://x"], "sqlite cannot use that URL; leave it out"),
        (["--only", "hot", "--store", "memory", "--against", "no-such-ref"], "no commit 'no-such-ref' here"),
    ],
)
def test_bad_use_is_refused_with_a_sentence(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    with pytest.raises(SystemExit) as refused:
        program.main()
    assert said in f"{refused.value}{capsys.readouterr().err}"
