"""Looks at an output all the time, as a reader that is not ours does, and tells what it saw. One request a line:

    {"do": "rows", "kind": FORMAT, "path": FILE OR FOLDER}              the rows of it
    {"do": "watch", "kind": FORMAT, "path": FOLDER, "ledger": FOLDER}    looks at the output from now on
    {"do": "look"}                                                    one more look, and what was new in all of them
    {"do": "rest"}                                                    the same, and no more looks

The answer to the last two is {"looks": [...], "taken": N, "torn": N, "batches": {...}}: a look for each time that the
files were other ones than before, {"rows": [...], "batches": {...}}, or with an "error" that a reader met. The documents of
the batches, by their dt, are read after the rows: what is visible must be committed by then.

A folder is listed before and after its files are read. If the two differ, the look was torn by a change and is
taken again: files never come back under an old name, so two equal lists are what was there all the time between."""

import glob
import json
import os
import select
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import rows  # noqa: E402


def listing(folder):
    """What is there that a reader takes for data, down to the file: None while the folder is not there."""
    try:
        top = os.stat(folder)
    except FileNotFoundError:
        return None
    found = [("", top.st_ino, 0)]
    below = [folder]
    while below:
        here = below.pop()
        with os.scandir(here) as entries:
            for e in entries:
                if e.name[0] in "._" and e.name != "_delta_log":
                    continue
                info = e.stat(follow_symlinks=False)
                if e.is_dir(follow_symlinks=False):
                    below.append(e.path)
                    found.append((e.path, info.st_ino, 0))
                else:
                    found.append((e.path, info.st_ino, info.st_size))
    return sorted(found)


def seen_by(kind, path):
    """The rows that a reader sees. A table without a commit has none."""
    if kind == "delta":
        if not glob.glob(os.path.join(glob.escape(path), "_delta_log", "*.json")):
            return []
        kind = "delta-rs"
    return rows.answer({"kind": kind, "path": path})["rows"]


def documents(ledger):
    """The newest generation of the document of each batch of the task that is looked at, by the batch's dt."""
    found = {}
    for folder in glob.glob(os.path.join(ledger, "batches", "*", "clean_orders", "*")):
        while True:
            generations = sorted(glob.glob(os.path.join(folder, "*.json")))
            if not generations:
                break
            try:
                with open(generations[-1], encoding="utf-8") as f:
                    doc = json.load(f)
            except FileNotFoundError:
                continue  # a newer one is there
            found[doc["batch"]["variables"]["dt"]] = doc
            break
    return found


class Watch:
    def __init__(self, kind, path, ledger):
        self.kind, self.path, self.ledger = kind, path, ledger
        self.last, self.first = None, True
        self.looks, self.taken, self.torn = [], 0, 0

    def look(self):
        """Takes a look: whether it was whole."""
        try:
            before = listing(self.path)
        except (FileNotFoundError, NotADirectoryError):
            self.torn += 1
            return False
        if before == self.last and not self.first:
            self.taken += 1
            return True
        seen = {}
        try:
            seen["rows"] = seen_by(self.kind, self.path)
        except Exception as e:  # of a torn look, or of a file that nobody can read
            seen["error"] = f"{type(e).__name__}: {e}"
        try:
            after = listing(self.path)
        except (FileNotFoundError, NotADirectoryError):
            after = ()
        if before != after:
            self.torn += 1
            return False
        seen["batches"] = documents(self.ledger)
        self.looks.append(seen)
        self.taken += 1
        self.last, self.first = before, False
        return True

    def twice(self):
        """A look at a table with two readers, which must see the same, and what the log says of its files must be true."""
        seen = {"batches": documents(self.ledger)}
        try:
            seen["rows"] = rows.answer({"kind": "delta", "path": self.path})["rows"]
        except Exception as e:
            seen["error"] = f"{type(e).__name__}: {e}"
        return seen

    def told(self):
        while not self.look():
            pass
        reply = {"looks": self.looks, "taken": self.taken, "torn": self.torn, "batches": documents(self.ledger)}
        self.looks, self.taken, self.torn = [], 0, 0
        return reply


def main():
    watch, quiet = None, 0
    while True:
        pause = None if watch is None else min(0.001 * 1.05 ** quiet, 0.02)
        if not select.select([sys.stdin], [], [], pause)[0]:
            changed = len(watch.looks)
            watch.look()
            quiet = 0 if len(watch.looks) > changed else min(quiet + 1, 100)
            continue
        line = sys.stdin.readline()
        if not line:
            return
        request = json.loads(line)
        reply, quiet = {}, 0
        if request["do"] == "rows":
            reply = rows.answer({"kind": request["kind"], "path": request["path"]})
        elif request["do"] == "watch":
            watch = Watch(request["kind"], request["path"], request["ledger"])
        else:
            reply = watch.told()
            if request["do"] == "rest":
                if watch.kind == "delta":
                    reply["looks"].append(watch.twice())
                watch = None
        print(json.dumps(reply), flush=True)


main()
