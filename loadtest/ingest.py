#!/usr/bin/env python3
"""The kick-off storm: registrations in bulk while matches get events, and single PUTs over many connections.

    loadtest/ingest.py                          600,000 registrations at 20,000 a second into 100 matches that get events
    loadtest/ingest.py --phones 100000          fewer
    loadtest/ingest.py --singles 10             single PUTs over 64 connections, for 10 s

Needs a release build (`swift build -c release`), Python 3 and PostgreSQL's programs. Everything runs on this machine, this
script included. At the end each match gets a last event; every phone must show it, and the counts of every version must add
up. An event's latency is its answer's; its push's is in /metrics.
"""
import argparse
import asyncio
import json
import multiprocessing
import pathlib
import subprocess
import sys
import time
import types
import urllib.request

from cluster import Cluster, binary
from sweep import Bench, Client, wait_for


class Fixture(Bench):
    """The service on a PostgreSQL of its own, the simulator, one tenant with live matches."""

    def __init__(self, arguments, cluster):
        super().__init__(types.SimpleNamespace(bin=arguments.bin, database=cluster.url, keep=False), 0, lean=True)
        self.cluster = cluster

    def prepare_matches(self, count):
        operator = Client(self.ready["url"], self.operator_key())
        credential = self.apns["credential"]
        tenant = operator.json("POST", "/v1/tenants", {"name": "acme"})["tenant"]
        self.secret = operator.json("POST", f"/v1/tenants/{tenant}/keys", {"role": "admin"})["secret"]
        api = Client(self.ready["url"], self.secret)
        api.json(
            "PUT", "/v1/apps/com.example.scores/production",
            {
                "team_id": credential["team_id"], "key_id": credential["key_id"], "channels": "none",
                "p8": pathlib.Path(credential["p8_file"]).read_text(), "frequent_updates_declared": True,
            },
        )
        contract = {"content_state": {"home": "int", "away": "int", "clock": "string"}}
        api.json("PUT", "/v1/apps/com.example.scores/types/ScoreAttributes", contract)
        for match in range(count):
            api.json(
                "PUT", f"/v1/matches/m-{match}",
                {
                    "bundle": "com.example.scores", "type": "ScoreAttributes",
                    "kickoff_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "content_state": {"home": 0, "away": 0, "clock": "0'"},
                },
            )

    def sql(self, query):
        return subprocess.run(
            [binary("psql"), "-XAtq", "-d", self.cluster.url, "-c", query],
            check=True, stdout=subprocess.PIPE, text=True,
        ).stdout.strip()

    def metrics(self):
        with urllib.request.urlopen(self.ready["metrics_url"] + "/metrics", timeout=10) as answer:
            return answer.read().decode()

    @property
    def address(self):
        host, port = self.ready["url"].removeprefix("http://").rsplit(":", 1)
        return host, int(port)


def token(number):
    return f"{number:064x}"


def lines(first, count):
    return "".join(
        f'{{"activity":"a-{n}","token":"{token(n)}","environment":"production","frequent_pushes_enabled":true}}\n'
        for n in range(first, first + count)
    ).encode()


async def request(reader, writer, secret, method, path, body):
    writer.write(
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {secret}\r\n"
        f"content-length: {len(body)}\r\n\r\n".encode() + body
    )
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    status = int(head.split(" ", 2)[1])
    if "transfer-encoding: chunked" in head:
        answer = b""
        while size := int((await reader.readline()).strip() or b"0", 16):
            answer += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
    else:
        answer = await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))
    return status, answer


async def feed(bench, matches, stop, found, connections=8):
    """An event every 10 ms, in the matches in turn, a tenth of them key: one a second in each of 100. Open loop: counted from
    when an event was due, over as many connections as a feed would use."""
    latencies = []
    begin = time.perf_counter()

    async def one(connection):
        reader, writer = await asyncio.open_connection(*bench.address)
        number = connection
        while not stop.is_set():
            due = begin + number * 0.01
            if (delay := due - time.perf_counter()) > 0:
                await asyncio.sleep(delay)
            body = json.dumps({
                "id": f"e-{number}", "importance": "key" if number % 10 == 0 else "routine",
                "content_state": {"home": number, "away": 0, "clock": "1'"},
            }).encode()
            path = f"/v1/matches/m-{number % matches}/events"
            status, answer = await request(reader, writer, bench.secret, "POST", path, body)
            assert status == 202, answer
            latencies.append(time.perf_counter() - due)
            number += connections
        writer.close()

    await asyncio.gather(*(one(n) for n in range(connections)))
    found.put(latencies)


async def bulk(bench, worker, workers, matches, per_match, rate, begin, batch=2_000):
    """This worker's share, open loop: each request is sent when it is due, or as soon as the one before is answered."""
    reader, writer = await asyncio.open_connection(*bench.address, limit=1 << 24)
    stored, late = 0, 0.0
    requests = [(m, first) for first in range(0, per_match, batch) for m in range(matches)]
    for index, (match, first) in enumerate(requests):
        if index % workers != worker:
            continue
        count = min(batch, per_match - first)
        body = lines(match * per_match + first, count)
        due = begin + index * batch / rate
        if (delay := due - time.perf_counter()) > 0:
            await asyncio.sleep(delay)
        late = max(late, time.perf_counter() - due)
        status, answer = await request(reader, writer, bench.secret, "POST", f"/v1/matches/m-{match}/activities", body)
        assert status == 200, answer
        stored += answer.count(b'"stored"')
    writer.close()
    return stored, late


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1_000


def storm(bench, arguments):
    bench.prepare_matches(arguments.matches)
    per_match = arguments.phones // arguments.matches
    # The feed is a process of its own: what the registrations cost this script is not the service's.
    stop, found = multiprocessing.Event(), multiprocessing.Queue()
    feeding = multiprocessing.Process(target=lambda: asyncio.run(feed(bench, arguments.matches, stop, found)))

    async def register():
        begin = time.perf_counter()
        workers = [
            bulk(bench, n, arguments.workers, arguments.matches, per_match, arguments.rate, begin)
            for n in range(arguments.workers)
        ]
        results = await asyncio.gather(*workers)
        return time.perf_counter() - begin, sum(r[0] for r in results), max(r[1] for r in results)

    feeding.start()
    seconds, stored, late = asyncio.run(register())
    stop.set()
    latencies = found.get(timeout=60)
    feeding.join()
    total = per_match * arguments.matches
    print(f"registered  {stored:,} of {total:,} in {seconds:.1f} s: {stored / seconds:,.0f} a second (wanted {arguments.rate:,}; latest {late:.2f} s behind)")
    print(f"events      {len(latencies):,} meanwhile; answered p50 {quantile(latencies, .5):.1f} ms, p99 {quantile(latencies, .99):.1f} ms, max {max(latencies) * 1000:.0f} ms")
    begin = time.perf_counter()
    settled = lambda: bench.sql(
        "SELECT (SELECT count(*) FROM stragglers) + (SELECT count(*) FROM targets t JOIN matches m USING (tenant_id, match_id) "
        "WHERE t.reached_version < m.version)"
    ) == "0"
    wait_for("everything to settle", settled, 120, 0.05)
    print(f"settled     {time.perf_counter() - begin:.1f} s after the last registration")
    rows = bench.sql("SELECT count(*) FROM activities")
    off = bench.sql("SELECT count(*) FROM touchline_sums_off(10)")
    over = bench.sql("SELECT coalesce(sum(over), 0) FROM turns")
    # Each match's last version: all its phones had it, from its sweep, or from a push of their own.
    missed = bench.sql(
        "SELECT count(*) FROM (SELECT m.match_id, sum(t.accepted) AS accepted FROM matches m JOIN turns t USING (tenant_id, match_id) "
        f"WHERE t.to_version = m.version GROUP BY 1) x WHERE accepted < {per_match}"
    )
    print(f"stored      {rows}; matches whose newest version some phone missed: {missed}; versions off: {off}; beyond the bound: {over}")
    pushed = [line for line in bench.metrics().splitlines() if line.startswith("touchline_event_first_push_seconds") and ("_count" in line or 'le="0.25"' in line or 'le="1"' in line)]
    print("\n".join(pushed))
    return stored == total and int(rows) == total and off == "0" and missed == "0"


async def put_all(bench, worker, seconds, matches, counts):
    reader, writer = await asyncio.open_connection(*bench.address)
    end = time.perf_counter() + seconds
    number = worker * 10_000_000
    while time.perf_counter() < end:
        body = f'{{"token":"{token(number)}","environment":"production","frequent_pushes_enabled":true}}'.encode()
        begin = time.perf_counter()
        status, answer = await request(
            reader, writer, bench.secret, "PUT", f"/v1/matches/m-{number % matches}/activities/a-{number}", body
        )
        assert status == 200, answer
        counts.append(time.perf_counter() - begin)
        number += 1
    writer.close()


def singles(bench, arguments):
    bench.prepare_matches(arguments.matches)

    async def run():
        counts = []
        await asyncio.gather(*(put_all(bench, n, arguments.singles, arguments.matches, counts) for n in range(64)))
        return counts

    counts = asyncio.run(run())
    rows, shared = bench.sql("SELECT count(*), count(DISTINCT registered_xid::text) FROM activities").split("|")
    print(f"single PUTs {len(counts) / arguments.singles:,.0f} a second over 64 connections; p50 {quantile(counts, .5):.1f} ms, p99 {quantile(counts, .99):.1f} ms")
    print(f"            {rows} rows in {shared} transactions")
    return int(rows) == len(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=".build/release", help="where the executables are")
    parser.add_argument("--phones", type=int, default=600_000)
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--rate", type=int, default=20_000, help="registrations a second")
    parser.add_argument("--workers", type=int, default=8, help="connections that register")
    parser.add_argument("--singles", type=float, default=0, metavar="SECONDS", help="single PUTs instead")
    arguments = parser.parse_args()
    cluster = Cluster()
    bench = None
    try:
        bench = Fixture(arguments, cluster)
        done = singles(bench, arguments) if arguments.singles else storm(bench, arguments)
    finally:
        if bench:
            bench.close()
        cluster.remove()
    sys.exit(0 if done else 1)


if __name__ == "__main__":
    main()
