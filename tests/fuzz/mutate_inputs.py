#!/usr/bin/python3
"""Runs mutate_inputs on files, and has all JSON that comes of it parsed: what is no JSON is a finding,
and so is where it ends before its last mutation, or takes more than 20 s for one.

    mutate_inputs.py MUTATE_INPUTS SEED COUNT FILE...
"""
import json
import os
import subprocess
import sys
import threading

MUTATE, SEED, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
HANGS = 20


class Campaign:
    """COUNT mutations of a file, in as many processes as that takes."""

    def __init__(self, file):
        self.file, self.next, self.read, self.findings = file, 0, 0, 0

    def tell(self, number, what):
        self.findings += 1
        print(f"{self.file}: mutation {number}: {what}", flush=True)
        print(f"  again: {MUTATE} --seed {SEED} --first {number} --count 1 {self.file}", flush=True)

    def run(self):
        while self.next < COUNT:
            process = subprocess.Popen([MUTATE, "--seed", str(SEED), "--first", str(self.next),
                                        "--count", str(COUNT - self.next), self.file],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            said = []
            reader = threading.Thread(target=lambda: said.append(process.stderr.read()), daemon=True)
            reader.start()
            self.take(process)
            status = process.wait()
            reader.join()
            if self.next < COUNT:
                words = said[0].decode(errors="replace").strip().splitlines()
                self.tell(self.next, f"it ended with {status}: {' | '.join(words[:12])[:1500]}")
                self.next += 1
        print(f"{self.file}: {COUNT} mutations of seed {SEED}: {self.read} read, {self.findings} findings",
              flush=True)
        return self.findings

    def take(self, process):
        out = process.stdout
        while self.next < COUNT:
            # A file that takes too long is killed by its own limit of CPU time.
            line = out.readline()
            if not line.endswith(b"\n"):
                return
            number, size = map(int, line.split())
            text = out.read(size)
            if len(text) != size:
                return
            self.next = number + 1
            if size > 0:
                self.read += 1
                self.check(number, text)

    def check(self, number, text):
        try:
            json.loads(text.decode("utf-8"))
        except ValueError as error:
            self.tell(number, f"no JSON: {error}")
        if any(byte < 0x20 and byte != 0x0a for byte in text):
            self.tell(number, "control characters in JSON")


os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
sys.exit(any([Campaign(file).run() for file in sys.argv[4:]]))
