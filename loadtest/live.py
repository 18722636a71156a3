#!/usr/bin/env python3
"""Many live matches at once, or one event at a time: how soon a channel's push follows its event, and what it costs.

    loadtest/live.py                        1,000 matches in 100 tenants, an event a second in each for 5 minutes, 1 in 10 key
    loadtest/live.py --seconds 60           the same for a minute
    loadtest/live.py --idle                 one event at a time, beside two commits and one round trip to the simulator

Needs a release build (`swift build -c release`), Python 3 and PostgreSQL's programs. Everything runs on this machine, the
feed included; PostgreSQL is one of its own, with the disk's real costs. Times are the database's clock: an event's is taken
inside its transaction, before the commit; a push's when it is handed to the sender pool, and when its outcome is known.
"""
import argparse
import asyncio
import collections
import datetime
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time
import types

from cluster import Cluster, binary
from sweep import Bench, Client, wait_for

GAP = 5.0  # seconds between routine updates of a frequent channel
STEADY = ("matches", "targets", "channels")  # tables whose rows are as many as the matches
PER_SECOND = 16  # of lone events, commits and round trips on an idle machine


class Fixture(Bench):
    """The service on a PostgreSQL of its own, the simulator, and tenants with live matches."""

    def __init__(self, arguments, cluster):
        super().__init__(
            types.SimpleNamespace(bin=arguments.bin, database=cluster.url, keep=arguments.keep), 0, lean=not arguments.idle
        )
        self.cluster = cluster

    def prepare_matches(self, tenants, matches):
        operator = Client(self.ready["url"], self.operator_key())
        credential = self.apns["credential"]
        app = {
            "team_id": credential["team_id"], "key_id": credential["key_id"],
            "p8": pathlib.Path(credential["p8_file"]).read_text(), "frequent_updates_declared": True,
        }
        contract = {"content_state": {"home": "int", "away": "int", "clock": "string"}}
        self.matches = []  # (path, key)
        for number in range(tenants):
            tenant = operator.json("POST", "/v1/tenants", {"name": f"tenant {number}"})["tenant"]
            secret = operator.json("POST", f"/v1/tenants/{tenant}/keys", {"role": "admin"})["secret"]
            api = Client(self.ready["url"], secret)
            api.json("PUT", "/v1/apps/com.example.scores/production", app)
            api.json("PUT", "/v1/apps/com.example.scores/types/ScoreAttributes", contract)
            for match in range(matches):
                api.json(
                    "PUT", f"/v1/matches/m-{match}",
                    {
                        "bundle": "com.example.scores", "type": "ScoreAttributes",
                        "kickoff_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                        "content_state": {"home": 0, "away": 0, "clock": "0'"},
                    },
                )
                self.matches.append((f"/v1/matches/m-{match}/events", secret))
            api.connection.close()
        wait_for(
            "all channels are open",
            lambda: self.cluster.query("SELECT count(*) FROM channels WHERE state <> 'open'") == [["0"]], 120, 0.2,
        )


class Feed:
    """Posts events over kept connections, each at its time, whether or not those before are answered."""

    def __init__(self, url, connections):
        self.host, _, port = url.removeprefix("http://").partition(":")
        self.port = int(port)
        self.free = asyncio.Queue()
        self.connections = connections
        self.answers = collections.Counter()
        self.latencies = []

    async def open(self):
        for _ in range(self.connections):
            self.free.put_nowait(await asyncio.open_connection(self.host, self.port))

    async def post(self, path, key, number, importance, due):
        body = json.dumps(
            {
                "id": f"e-{number}", "kind": "update", "importance": importance, "sequence": number,
                "content_state": {"home": number, "away": 0, "clock": f"{number}'"},
            }
        )
        reader, writer = await self.free.get()
        sent_at = time.time()
        writer.write(
            (
                f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
            ).encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        self.free.put_nowait((reader, writer))
        self.answers[head[9:12].decode()] += 1
        self.latencies.append(time.monotonic() - due)
        return sent_at


def quantiles(values):
    values = sorted(values)
    pick = lambda share: values[min(len(values) - 1, int(share * len(values)))]
    return {"count": len(values), "p50": pick(0.5), "p90": pick(0.9), "p99": pick(0.99), "max": values[-1]}


def line(name, seconds):
    if not seconds:
        return f"  {name:<46} none"
    q = quantiles(seconds)
    return (
        f"  {name:<46} {q['count']:>8,}  p50 {1e3 * q['p50']:7.1f}  p90 {1e3 * q['p90']:7.1f}"
        f"  p99 {1e3 * q['p99']:7.1f}  max {1e3 * q['max']:8.1f} ms"
    )


def push_latencies(cluster, since):
    """From events' and turns' rows: seconds from key events, from routine ones that nothing held, and past a gap's end.

    Of events since that UNIX time.
    """
    turns = collections.defaultdict(list)
    for row in cluster.query(
        """SELECT tenant_id, match_id, from_version, to_version, priority, extract(epoch FROM first_push_at),
                  extract(epoch FROM last_push_at) FROM turns WHERE kind = 'channel' ORDER BY to_version"""
    ):
        turns[row[0], row[1]].append((int(row[2]), int(row[3]), row[4], float(row[5]), float(row[6])))
    result = collections.defaultdict(list)
    place = collections.Counter()
    for tenant, match, version, importance, at in cluster.query(
        """SELECT tenant_id, match_id, version, importance, extract(epoch FROM received_at) FROM events
           WHERE status = 'accepted' ORDER BY version"""
    ):
        key, version, at = (tenant, match), int(version), float(at)
        while place[key] < len(turns[key]) and turns[key][place[key]][1] < version:
            place[key] += 1
        if at < since:
            continue
        if place[key] >= len(turns[key]):
            result["unsent"].append(at)
            continue
        _, _, _, pushed, answered = turns[key][place[key]]
        last_routine = next((t[3] for t in reversed(turns[key][: place[key]]) if t[2] == "5"), 0)
        if importance == "key":
            result["key"].append(pushed - at)
            result["key answered"].append(answered - at)
        elif last_routine + GAP <= at:
            result["routine"].append(pushed - at)
        elif turns[key][place[key]][2] == "5":
            result["held"].append(pushed - max(at, last_routine + GAP))
    return result


def tables(cluster):
    rows = cluster.query(
        """SELECT relname, n_live_tup, n_dead_tup, n_tup_ins, n_tup_upd, n_tup_hot_upd, autovacuum_count,
                  pg_relation_size(relid), pg_indexes_size(relid)
           FROM pg_stat_user_tables WHERE n_tup_ins > 0 ORDER BY pg_total_relation_size(relid) DESC"""
    )
    return {row[0]: [int(value) for value in row[1:]] for row in rows}


def sizes_of(cluster, names):
    """Bytes of each with its indexes."""
    rows = cluster.query(f"SELECT pg_total_relation_size(n) FROM unnest(ARRAY{list(names)}) WITH ORDINALITY x (n, i) ORDER BY i")
    return [int(row[0]) for row in rows]


def print_tables(title, now, before=None):
    print(f"  {title:<12} {'live':>9} {'dead':>9} {'updated':>10} {'of it HOT':>9} {'vacuums':>8} {'table KiB':>10} {'index KiB':>10}")
    for name, (live, dead, _, updated, hot, vacuums, size, index) in now.items():
        if before:
            base = before.get(name, [0] * 8)
            updated, hot, vacuums = updated - base[3], hot - base[4], vacuums - base[5]
        if name in ("matches", "targets", "channels", "events", "turns"):
            share = f"{100 * hot / updated:.1f} %" if updated else "-"
            print(f"  {name:<12} {live:>9,} {dead:>9,} {updated:>10,} {share:>9} {vacuums:>8} {size // 1024:>10,} {index // 1024:>10,}")


async def live(arguments, fixture, report):
    feed = Feed(fixture.ready["url"], 64)
    await feed.open()
    count = len(fixture.matches)
    # Live matches have connections and provider tokens: an event of each, a hundred a second.
    for match, (path, key) in enumerate(fixture.matches):
        await feed.post(path, key, 1, "routine", time.monotonic())
        await asyncio.sleep(0.01)
    await asyncio.sleep(5)
    feed.latencies, feed.answers, since = [], collections.Counter(), time.time()
    fixture.cluster.query("VACUUM ANALYZE")
    before = tables(fixture.cluster)
    print_tables("before", before)
    own = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    sample = lambda: (
        time.monotonic(), fixture.service.cpu_seconds(), fixture.cluster.cpu_seconds(), fixture.simulator.cpu_seconds(), own()
    )
    start, last, pending = time.monotonic(), sample(), set()
    samples = []
    print(f"  share of a core: {'service':>9} {'PostgreSQL':>11} {'simulator':>10} {'feed':>6} {'events/s':>9}   KiB of {', '.join(STEADY)}")
    for number in range(arguments.seconds * count):
        due = start + number / count
        if (pause := due - time.monotonic()) > 0.0005:
            await asyncio.sleep(pause)
        match, round_number = number % count, number // count
        importance = "key" if (round_number + match) % 10 == 0 else "routine"
        task = asyncio.create_task(feed.post(*fixture.matches[match], round_number + 2, importance, due))
        pending.add(task)
        task.add_done_callback(pending.discard)
        if time.monotonic() - last[0] >= 30:
            now = sample()
            took = now[0] - last[0]
            shares = [(a - b) / took for a, b in zip(now[1:], last[1:])]
            posted = len(feed.latencies) - sum(s["events"] for s in samples)
            sizes = [total // 1024 for total in sizes_of(fixture.cluster, STEADY)]
            samples.append({"shares": shares, "events": posted, "kib": dict(zip(STEADY, sizes))})
            print(
                f"  {now[0] - start:7.0f} s {shares[0]:>15.2f} {shares[1]:>11.2f} {shares[2]:>10.2f} {shares[3]:>6.2f}"
                f" {posted / took:>9,.0f}   {' '.join(f'{size:,}' for size in sizes)}", flush=True,
            )
            last = now
    if pending:
        await asyncio.wait(pending, timeout=30)
    wait_for(
        "everything is sent",
        lambda: fixture.cluster.query(
            "SELECT count(*) FROM targets t JOIN matches m USING (tenant_id, match_id) WHERE t.reached_version < m.version"
        ) == [["0"]], 60, 0.5,
    )
    after = tables(fixture.cluster)
    print_tables("after", after, before)
    pushes = push_latencies(fixture.cluster, since)
    print(f"  answers {dict(feed.answers)}, service peak {fixture.service.peak_bytes() / 2**20:.1f} MiB")
    print(line("the feed's posts, from when they were due", feed.latencies))
    print(line("key event to its channel push", pushes["key"]))
    print(line("key event to APNs' answer", pushes["key answered"]))
    print(line("routine event that nothing held, to its push", pushes["routine"]))
    print(line("a held routine push, from its gap's end", pushes["held"]))
    report.update(
        samples=samples, answers=dict(feed.answers), before=before, after=after,
        **{name.replace(" ", "_"): quantiles(values) for name, values in pushes.items() if values},
    )
    if set(feed.answers) != {"202"} or pushes["unsent"] or quantiles(pushes["key"])["p99"] > 0.25:
        raise SystemExit("live.py: the promise is not kept")


async def idle(arguments, fixture, report):
    feed = Feed(fixture.ready["url"], 1)
    await feed.open()
    rounds, sent = 6, {}
    for number in range(1, rounds + 1):
        for match, (path, key) in enumerate(fixture.matches):
            sent[match, number] = await feed.post(path, key, number, "key", time.monotonic())
            await asyncio.sleep(1 / PER_SECOND)
    fixture_rows = fixture.cluster.query(
        """SELECT t.tenant_id, t.match_id, t.to_version, extract(epoch FROM t.last_push_at),
                  extract(epoch FROM t.last_push_at - e.received_at)
           FROM turns t JOIN events e ON (e.tenant_id, e.match_id, e.version) = (t.tenant_id, t.match_id, t.to_version)
           WHERE t.kind = 'channel'"""
    )
    # The first round opens connections.
    rows = [row for row in fixture_rows if int(row[2]) > 1]
    from_post = [float(row[3]) - sent[int(row[1].split("-")[1]), int(row[2])] for row in rows]
    from_accept = [float(row[4]) for row in rows]
    # The machine is as idle for what they are compared with: one at a time, as often as the events. Back to back, with warm
    # caches and processors that do not sleep, either takes a third of that; no lone event finds a machine like that.
    commit = commit_seconds(fixture.cluster, PER_SECOND)
    trip = round_trip_seconds(fixture, PER_SECOND)
    hot = 2 * commit_seconds(fixture.cluster) + round_trip_seconds(fixture)
    budget = 2 * (2 * commit + trip)
    print(line("post to APNs' answer", from_post))
    print(line("acceptance to APNs' answer", from_accept))
    print(f"  one commit {1e3 * commit:.2f} ms, one round trip to the simulator {1e3 * trip:.2f} ms (medians, {PER_SECOND} a second)")
    median = statistics.median(from_post)
    print(
        f"  median {1e3 * median:.2f} ms from the post; twice (two commits and a round trip): {1e3 * budget:.2f} ms"
        f" ({2e3 * hot:.2f} ms back to back)"
    )
    report.update(
        commit=commit, round_trip=trip, from_post=quantiles(from_post), from_accept=quantiles(from_accept),
        back_to_back=2 * hot,
    )
    if median > budget:
        raise SystemExit("live.py: the promise is not kept")


def commit_seconds(cluster, rate=None):
    """The median of single-row updates, one connection as the service has them, by pgbench; back to back without a rate."""
    cluster.query("DROP TABLE IF EXISTS commits; CREATE TABLE commits (n int) WITH (fillfactor = 50)")
    cluster.query("INSERT INTO commits VALUES (0)")
    for log in cluster.folder.glob("commit.[0-9]*"):
        log.unlink()
    script = cluster.folder / "commit.sql"
    script.write_text("UPDATE commits SET n = n + 1;\n")
    cluster.run(
        "pgbench", "-h", "127.0.0.1", "-p", cluster.port, "-U", "touchline", "-n", "-M", "prepared", "-c", "1",
        "-t", "100", "-f", script, "-l", f"--log-prefix={cluster.folder}/commit", *(["-R", rate] if rate else []), "touchline",
    )
    rows = [row.split() for row in next(cluster.folder.glob("commit.[0-9]*")).read_text().splitlines()]
    # With a rate, the seventh is how late it began.
    return statistics.median(int(row[2]) - (int(row[6]) if rate else 0) for row in rows) / 1e6


def round_trip_seconds(fixture, rate=None):
    """The median of requests over one connection, by curl. They are refused, for want of a token."""
    host = fixture.apns["production"]["push"]
    url = f"https://{host}/4/broadcasts/apps/com.example.scores"
    run = subprocess.run(
        ["curl", "-s", "--http2", "--cacert", fixture.apns["ca_file"], "-X", "POST", "-d", "{}", "-o", "/dev/null",
         "-w", "%{time_total}\n", *(["--rate", f"{rate}/s"] if rate else []), f"{url}?[1-100]"],
        check=True, stdout=subprocess.PIPE, text=True,
    )
    return statistics.median(float(value) for value in run.stdout.split()[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=300, help="how long events are posted (default 300)")
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--matches", type=int, default=10, help="of each tenant")
    parser.add_argument("--idle", action="store_true", help="one event at a time, 20 matches of one tenant")
    parser.add_argument("--bin", default=".build/release", help="folder of the executables (default .build/release)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder, with its logs")
    arguments = parser.parse_args()
    if arguments.idle:
        arguments.tenants, arguments.matches = 1, 20
    cluster, fixture, report = Cluster(), None, {}
    try:
        fixture = Fixture(arguments, cluster)
        fixture.prepare_matches(arguments.tenants, arguments.matches)
        asyncio.run((idle if arguments.idle else live)(arguments, fixture, report))
    finally:
        if fixture:
            fixture.close()
        cluster.remove()
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
