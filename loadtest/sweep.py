#!/usr/bin/env python3
"""Measures one sweep of a match's update tokens, from the 202 of a `key` event to the last outcome committed.

    loadtest/sweep.py --tokens 100000                 pushes a second, simulator as a light sink, and peak memory
    loadtest/sweep.py --tokens 10000 --tokens 100000  both in fresh processes, and the ratio of their peak memory
    loadtest/sweep.py --tokens 100000 --kill          kill -9 in the middle, restart, count what was pushed twice
    loadtest/sweep.py ... --database URL              the same on an external PostgreSQL (an empty database)

Needs a release build (`swift build -c release`) and Python 3 alone. Everything runs on this machine; the processes are
ended, and the temporary folder is removed, at the end.
"""
import argparse
import http.client
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

NAME = pathlib.Path(sys.argv[0]).name  # of the script that uses this one
BATCH = 5_000  # registrations a request, the same for every size, so that it weighs alike in the peak memory


def wait_for(what, check, seconds=60.0, step=0.01):
    """Polls `check` until it gives something true, and returns that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = check()
        if value:
            return value
        time.sleep(step)
    sys.exit(f"{NAME}: {what}: not within {seconds:g} s")


class Process:
    """A program of the build, with its ready-file."""

    def __init__(self, binary, arguments, folder, name, environment=None):
        self.ready_file = folder / f"{name}.ready.json"
        self.ready_file.unlink(missing_ok=True)
        self.log = open(folder / f"{name}.log", "ab")
        self.process = subprocess.Popen(
            [binary, *arguments, "--ready-file", self.ready_file],
            stdout=self.log,
            stderr=self.log,
            env={**os.environ, **(environment or {})},
        )
        self.name = name

    def ready(self):
        def check():
            if self.process.poll() is not None:
                sys.exit(f"{NAME}: {self.name} ended with {self.process.returncode}: see {self.log.name}")
            try:
                return json.loads(self.ready_file.read_text())
            except (FileNotFoundError, json.JSONDecodeError):
                return None

        return wait_for(f"{self.name} is ready", check)

    def peak_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()


class Client:
    """JSON over HTTP/1.1 to one address, on one kept connection."""

    def __init__(self, url, key=None, tenant=None):
        self.address = urllib.parse.urlsplit(url).netloc
        self.headers = {"Content-Type": "application/json"}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"
        if tenant:
            self.headers["Touchline-Tenant"] = tenant
        self.connection = http.client.HTTPConnection(self.address, timeout=60)

    def call(self, method, path, body=None):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        try:
            self.connection.request(method, path, data, self.headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (ConnectionError, http.client.HTTPException):
            self.connection.close()
            raise
        if answer.status >= 400:
            raise SystemExit(f"{NAME}: {method} {path}: {answer.status} {text.decode(errors='replace')}")
        return text

    def json(self, method, path, body=None):
        text = self.call(method, path, body)
        return json.loads(text) if text else None


class Bench:
    """The simulator, the service on it, and one match with its update tokens."""

    def __init__(self, arguments, tokens, lean):
        self.arguments = arguments
        self.tokens = tokens
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tl-sweep-"))
        self.folder.chmod(0o755)
        binaries = pathlib.Path(arguments.bin)
        self.service_binary = binaries / "touchline"
        self.simulator = Process(
            binaries / "apns-simulator", ["--lean"] if lean else [], self.folder, "apns-simulator"
        )
        self.apns = self.simulator.ready()
        self.start_service()

    def start_service(self):
        apns = self.apns
        environment = {"DATABASE_URL": self.arguments.database} if self.arguments.database else {}
        key_file = self.folder / "master.key"
        if self.arguments.database:
            if not key_file.exists():
                key_file.write_bytes(os.urandom(32))
                key_file.chmod(0o600)
        self.service = Process(
            self.service_binary,
            [
                "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--data", self.folder / "data",
                "--apns-production-push", apns["production"]["push"],
                "--apns-production-manage", apns["production"]["manage"],
                "--apns-sandbox-push", apns["sandbox"]["push"],
                "--apns-sandbox-manage", apns["sandbox"]["manage"],
                "--apns-ca", apns["ca_file"],
                *(["--master-key-file", key_file] if self.arguments.database else []),
            ],
            self.folder,
            "touchline",
            environment,
        )
        self.ready = self.service.ready()

    def operator_key(self):
        if not self.arguments.database:
            return pathlib.Path(self.ready["operator_key_file"]).read_text().strip()
        answer = subprocess.run(
            [self.service_binary, "key", "bootstrap", "--json"],
            env={**os.environ, "DATABASE_URL": self.arguments.database},
            check=True,
            capture_output=True,
        )
        return json.loads(answer.stdout)["secret"]

    def prepare(self):
        operator = Client(self.ready["url"], self.operator_key())
        tenant = operator.json("POST", "/v1/tenants", {"name": "sweep"})["tenant"]
        secret = operator.json("POST", f"/v1/tenants/{tenant}/keys", {"role": "admin"})["secret"]
        self.key = secret
        self.api = Client(self.ready["url"], secret)
        credential = self.apns["credential"]
        self.api.json(
            "PUT",
            "/v1/apps/com.example.scores/production",
            {
                "team_id": credential["team_id"],
                "key_id": credential["key_id"],
                "p8": pathlib.Path(credential["p8_file"]).read_text(),
                "frequent_updates_declared": True,
                "channels": "none",
            },
        )
        self.api.json(
            "PUT",
            "/v1/apps/com.example.scores/types/ScoreAttributes",
            {"content_state": {"home": "int", "away": "int", "clock": "string"}},
        )
        self.api.json(
            "PUT",
            "/v1/matches/sweep-1",
            {
                "bundle": "com.example.scores",
                "type": "ScoreAttributes",
                "kickoff_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "content_state": {"home": 0, "away": 0, "clock": "0'"},
            },
        )
        started = time.monotonic()
        for first in range(0, self.tokens, BATCH):
            lines = (
                json.dumps(
                    {
                        "activity": f"a-{number}",
                        "token": f"{number:064x}",
                        "environment": "production",
                        "frequent_pushes_enabled": True,
                    }
                )
                for number in range(first + 1, min(first + BATCH, self.tokens) + 1)
            )
            answers = self.api.call("POST", "/v1/matches/sweep-1/activities", "\n".join(lines).encode() + b"\n")
            stored = answers.count(b'"stored"')
            if stored != min(BATCH, self.tokens - first):
                raise SystemExit(f"sweep.py: {stored} stored of a batch: {answers[:300]!r}")
        self.registered_per_second = self.tokens / (time.monotonic() - started)

    def post(self, number, importance="key"):
        self.api.json(
            "POST",
            "/v1/matches/sweep-1/events",
            {
                "id": f"event-{number}",
                "kind": "update",
                "importance": importance,
                "sequence": number,
                "content_state": {"home": number, "away": 0, "clock": f"{number}'"},
            },
        )

    def turn(self, version):
        """The turn that brought the tokens to `version`, once it is done."""
        turns = self.api.json("GET", "/v1/matches/sweep-1/deliveries")["sends"]
        for turn in turns:
            if turn["target"] == "tokens" and turn["state"] == "done" and turn["versions"][1] >= version:
                return turn
        return None

    def close(self):
        self.service.stop()
        self.simulator.stop()
        if self.arguments.keep:
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def measure(arguments, tokens):
    bench = Bench(arguments, tokens, lean=True)
    try:
        bench.prepare()
        rates = []
        for number in range(1, arguments.rounds + 1):
            cpu, sink = bench.service.cpu_seconds(), bench.simulator.cpu_seconds()
            bench.post(number)
            accepted_at = time.monotonic()
            turn = wait_for("the sweep", lambda number=number: bench.turn(number), 300)
            seconds = time.monotonic() - accepted_at
            if turn["accepted"] != tokens:
                raise SystemExit(f"sweep.py: {turn['accepted']} accepted of {tokens}: {turn}")
            rates.append(tokens / seconds)
            print(
                f"  {tokens:>9,} tokens  {seconds:6.3f} s  {tokens / seconds:>9,.0f} pushes/s"
                f"  service {1e6 * (bench.service.cpu_seconds() - cpu) / tokens:5.1f} us CPU a push"
                f"  simulator {1e6 * (bench.simulator.cpu_seconds() - sink) / tokens:5.1f}",
                flush=True,
            )
        peak = bench.service.peak_bytes()
        print(
            f"  median {statistics.median(rates):,.0f} pushes/s (from {min(rates):,.0f} to {max(rates):,.0f}),"
            f" peak memory {peak / 2**20:.1f} MiB, {bench.registered_per_second:,.0f} registrations/s"
        )
        return {"tokens": tokens, "pushes_per_second": rates, "peak_rss_bytes": peak}
    finally:
        bench.close()


def kill_in_the_middle(arguments, tokens):
    bench = Bench(arguments, tokens, lean=False)
    try:
        bench.prepare()
        control = Client(bench.apns["control"])
        pushed = lambda: control.json("GET", "/_sim/counts")["requests"].get("device", 0)
        bench.post(1)
        wait_for("a third of the sweep", lambda: pushed() >= tokens // 3, step=0.001)
        bench.service.kill()
        at_kill = pushed()
        killed_at = time.monotonic()
        bench.start_service()
        bench.api = Client(bench.ready["url"], bench.key)
        wait_for("the sweep after the restart", lambda: bench.turn(1), 120)
        seconds = time.monotonic() - killed_at
        shows = control.json("GET", "/_sim/summary")["shows"]
        newest = sum(s["count"] for s in shows if (s["content_state"] or {}).get("home") == 1)
        twice = pushed() - tokens
        print(
            f"  killed at {at_kill:,} of {tokens:,} pushes; {newest:,} of {tokens:,} tokens on the newest version"
            f" {seconds:.1f} s after the kill; {twice:,} pushed twice ({100 * twice / tokens:.1f} %)"
        )
        if newest != tokens or seconds > 30 or twice > tokens / 10:
            raise SystemExit("sweep.py: the promise is not kept")
    finally:
        bench.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, action="append", help="update tokens of the match; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="key events, one sweep each (default 5)")
    parser.add_argument("--kill", action="store_true", help="kill -9 in the middle of the sweep, and restart")
    parser.add_argument("--database", help="libpq URL of an empty database; default: the embedded PostgreSQL")
    parser.add_argument("--bin", default=".build/release", help="folder of the executables (default .build/release)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder, with its logs")
    arguments = parser.parse_args()
    results = []
    for tokens in arguments.tokens or [100_000]:
        if arguments.kill:
            kill_in_the_middle(arguments, tokens)
        else:
            results.append(measure(arguments, tokens))
    if len(results) == 2:
        small, large = sorted(results, key=lambda result: result["tokens"])
        print(f"  peak memory: {large['peak_rss_bytes'] / small['peak_rss_bytes']:.3f} times")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
