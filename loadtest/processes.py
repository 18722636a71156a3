#!/usr/bin/env python3
"""Eight processes on one PostgreSQL with a standby: killed, stopped, drained, their connections cut, the standby promoted.

    loadtest/processes.py                    20,000 tokens, a goal for each fault, each in the middle of its sweep

After each fault every token must show that goal within 30 s, without a restart of any process. Prints what was pushed twice.
Needs a release build and Python 3 alone; everything runs on this machine.
"""
import argparse
import http.client
import json
import os
import signal
import time

from cluster import Cluster
from sweep import Bench, Client, Process, wait_for

SETTINGS = ("wal_level = replica", "max_wal_senders = 4", "hot_standby = on")


class Fleet(Bench):
    """The processes; `service` is the first of them."""

    def start_service(self):
        self.services = []
        for number in range(self.arguments.processes):
            self.start_one(number)
        self.service = self.services[0]
        self.ready = self.service.ready()

    def start_one(self, number):
        key_file = self.folder / "master.key"
        if not key_file.exists():
            key_file.write_bytes(os.urandom(32))
            key_file.chmod(0o600)
        apns = self.apns
        self.services.append(
            Process(
                self.service_binary,
                [
                    "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
                    "--apns-production-push", apns["production"]["push"],
                    "--apns-production-manage", apns["production"]["manage"],
                    "--apns-sandbox-push", apns["sandbox"]["push"], "--apns-sandbox-manage", apns["sandbox"]["manage"],
                    "--apns-ca", apns["ca_file"], "--master-key-file", key_file,
                ],
                self.folder, f"touchline-{number}", {"DATABASE_URL": self.arguments.database},
            )
        )
        self.services[-1].ready()

    def close(self):
        for service in self.services:
            if service.process.poll() is None:
                service.process.send_signal(signal.SIGCONT)
                service.stop()
        super().close()


def answer(url, path, key=None, body=None):
    """Status and Retry-After of one request; (0, None) where nobody listens."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        response.read()
        return response.status, response.getheader("Retry-After")
    except OSError:
        return 0, None
    finally:
        connection.close()


def event(number):
    state = {"home": number, "away": 0, "clock": f"{number}'"}
    return {"id": f"event-{number}", "kind": "update", "importance": "key", "sequence": number, "content_state": state}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--bin", default=".build/release", help="folder of the executables (default .build/release)")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder, with its logs")
    arguments = parser.parse_args()
    primary = Cluster(settings=SETTINGS)
    standby = Cluster(base=f"host=127.0.0.1 port={primary.port} user=touchline")
    arguments.database = (
        f"postgres://touchline@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/touchline?target_session_attrs=read-write"
    )
    fleet, kept, newest = None, True, primary
    try:
        fleet = Fleet(arguments, arguments.tokens, lean=False)
        fleet.prepare()
        control = Client(fleet.apns["control"])
        counts = lambda: control.json("GET", "/_sim/counts")["requests"].get("device", 0)
        live = lambda: [s for s in fleet.services if s.process.poll() is None]

        def holder():
            """The process that sweeps, by its lease; its name is not in its process, so: whoever uses most CPU."""
            before = {s: s.cpu_seconds() for s in live()}
            time.sleep(0.03)
            return max(before, key=lambda s: s.cpu_seconds() - before[s])

        number = 0

        def fault(name, body):
            nonlocal number, kept
            number += 1
            before, url = counts(), next(s for s in live() if s is not stopped.get("service")).ready()["url"]
            wait_for(
                "the event is taken", lambda: answer(url, "/v1/matches/sweep-1/events", fleet.key, event(number))[0] in (200, 202), 30, 0.1
            )
            wait_for("a quarter of the sweep", lambda: counts() - before >= arguments.tokens // 4, 30, 0.001)
            at = time.monotonic()
            said = body()
            shows = lambda: sum(
                s["count"] for s in control.json("GET", "/_sim/summary")["shows"] if (s["content_state"] or {}).get("home") == number
            )
            wait_for(f"goal {number} on every phone", lambda: shows() == arguments.tokens, 60, 0.1)
            seconds = time.monotonic() - at
            time.sleep(0.5)
            twice = counts() - before - arguments.tokens
            kept = kept and seconds <= 30 and twice <= arguments.tokens / 10
            print(f"  {name:<44} all tokens {seconds:5.1f} s after it, {twice:,} twice ({100 * twice / arguments.tokens:.1f} %){said or ''}", flush=True)

        stopped = {}

        def stop():
            stopped["service"] = holder()
            stopped["service"].process.send_signal(signal.SIGSTOP)

        def drain():
            service = holder()
            begin = time.monotonic()
            service.process.send_signal(signal.SIGTERM)
            code = service.process.wait(30)
            return f"; exit {code} after {time.monotonic() - begin:.1f} s"

        def restart():
            primary.stop("fast")
            url = live()[-1].ready()["url"]
            refused = answer(url, "/v1/matches/sweep-1/events", fleet.key, event(999))
            primary.start()
            return f"; meanwhile an event was answered {refused[0]}, Retry-After {refused[1]}, /readyz {answer(url, '/readyz')[0]}"

        def killed():
            primary.kill()
            primary.start()

        def promote():
            nonlocal newest
            primary.kill()
            standby.promote()
            newest = standby

        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'touchline' AND pid <> pg_backend_pid()"
        fault("nothing", lambda: None)
        fault("the holder is killed", lambda: holder().kill())
        fault("the holder is stopped past its lease", stop)
        fault("another is drained; the stopped goes on", lambda: (stopped["service"].process.send_signal(signal.SIGCONT), drain())[1])
        fault("all connections are cut", lambda: primary.query(cut) and None)
        fault("PostgreSQL is restarted (fast)", restart)
        fault("PostgreSQL is killed", killed)
        fault("PostgreSQL is killed, its standby promoted", promote)
        print(f"  processes at the end: {len(live())} of {arguments.processes}; reached {newest.query('SELECT min(reached_version), max(reached_version) FROM targets')}")
        if not kept:
            raise SystemExit("processes.py: the promise is not kept")
    finally:
        if fleet:
            fleet.close()
        standby.remove()
        primary.remove()


if __name__ == "__main__":
    main()
