"""Holds what the command b2nd says of each kept frame against what python-blosc2 says of it.

    compare.py B2ND KEPT

Exit status 1 if a value differs, or if a frame that python-blosc2 reads is refused or has an error.
"""

import ast
import collections
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

# What both say of every frame, and what they say of an array. Of chunks of different sizes only python-blosc2 says the
# number, as it is not in the header.
FRAME_FIELDS = "container", "typesize", "stored_nbytes", "cbytes", "nchunks", "codec", "clevel", "filters"
ARRAY_FIELDS = "shape", "chunks", "blocks", "ndim", "nbytes", "dtype"

# Why an error of `check` is right although python-blosc2 opens the frame and says the same values.
WRITTEN_REASONS = {}


def main(b2nd, kept):
    files = sorted(str(path) for path in kept.glob("*/*") if not path.name.endswith(".partial"))
    if not files:
        sys.exit(f"no frames in {kept}")
    listing = kept / "files.txt"
    listing.write_text("".join(f"{file}\n" for file in files))
    python = ask(files)
    ours = {
        "info": run_info(b2nd, files),
        "ls": run(b2nd, ["ls", "--json", "--unordered", "--files-from", listing]),
        "check": run(b2nd, ["check", "--json", "--unordered", "--files-from", listing]),
    }
    report = Report(read_origins(kept))
    report.python(python)
    for command, records in ours.items():
        report.compare(command, python, records)
    report.check(python, ours["check"])
    return report.end(files)


def run_info(b2nd, files):
    """`info` takes its files as arguments, some hundred at a time."""
    records = {}
    for start in range(0, len(files), 400):
        records |= run(b2nd, ["info", "--json", "--meta", *files[start : start + 400]])
    return records


def run(b2nd, arguments):
    """What b2nd prints, by path and member."""
    done = subprocess.run([b2nd, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    if done.returncode not in (0, 1):
        sys.exit(f"b2nd {arguments[0]}: status {done.returncode}: {done.stderr}")
    records = map(json.loads, done.stdout.splitlines())
    return {(record["path"], record.get("member")): record for record in records}


def ask(files, read=False):
    """What python-blosc2 says, by path and member. Where it crashes, it is begun again after the frame."""
    answers = {}
    position = 0
    while position < len(files):
        command = [sys.executable, HERE / "ask.py", *(["--read"] if read else [])]
        paths = "".join(f"{file}\n" for file in files[position:])
        done = subprocess.run(command, input=paths, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        for line in lines:
            answers[line["path"], line["member"]] = line
        if done.returncode == 0:
            break
        if done.returncode > 0 or not lines:
            sys.exit(f"ask.py: status {done.returncode}")
        crash = signal.Signals(-done.returncode).name
        lines[-1] |= {"opens": crash, "refused": crash}
        answers[lines[-1]["path"], lines[-1]["member"]] = lines[-1]
        position = files.index(lines[-1]["path"], position) + 1
    return answers


def read_origins(kept):
    """The test that made each file, and how often a frame was too large or could not be kept."""
    tests = {}
    notes = collections.Counter()
    for origins in kept.glob("origins-*.tsv"):
        for line in origins.read_text().splitlines():
            what, how, test = line.split("\t")
            if what in ("large", "failed"):
                notes[f"{what}: {how}"] += 1
            else:
                tests[what] = f"{test} ({how})"
    return tests, notes


class Report:
    def __init__(self, origins):
        self.origins, self.notes = origins
        self.failures = 0

    def counts(self, title, counter):
        if counter:
            print(f"{title}:")
            for what, count in counter.most_common():
                print(f"  {count:6}  {what}")

    def wrong(self, what, key):
        """A difference; the first ones are printed with the test that they are from."""
        self.failures += 1
        if self.failures <= 40:
            path, member = key
            place = path if member is None else f"{path}:{member}"
            print(f"  {what}\n    {place}\n    from {self.origins.get(Path(path).name)}")

    def python(self, answers):
        refused = {key: answer for key, answer in answers.items() if "refused" in answer}
        print(f"frames: {len(answers)}, of which python-blosc2 reads {len(answers) - len(refused)}")
        kinds = collections.Counter()
        for answer in answers.values():
            layers = ", ".join(answer["frame"]["metalayers"]) if "frame" in answer else "?"
            kinds[f"{layers or '(no metalayer)'}: opened as {answer['opens']}"] += 1
        self.counts("kinds, by metalayers", kinds)
        self.counts("refused", collections.Counter(answer["refused"] for answer in refused.values()))

    def compare(self, command, python, records):
        """Holds one command's records against python's answers."""
        compared, left_out, without_nchunks = 0, 0, 0
        differing = collections.Counter()
        both_refuse = collections.Counter()
        only_python_refuses = collections.Counter()
        for key, answer in python.items():
            # Of a file that cannot be read as a zip file or a frame there is one record, without a member.
            record = records.get(key) or records.get((key[0], None))
            if record is None and command == "ls" and not answer.get("frame", {"is_array": False})["is_array"]:
                left_out += 1
            elif record is None:
                differing["missing"] += 1
                self.wrong(f"{command} says nothing", key)
            elif "refused" in answer:
                counter = both_refuse if "error" in record else only_python_refuses
                counter[outcome(record)] += 1
            elif "error" in record:
                differing["refused"] += 1
                self.wrong(f"{command} refuses: {record['error']}", key)
            else:
                compared += 1
                without_nchunks += record["nchunks"] is None
                for field, theirs, our in differences(answer["frame"], record):
                    differing[field] += 1
                    self.wrong(f"{command}: {field} is {our!r}, to python-blosc2 {theirs!r}", key)
        for key in records.keys() - python.keys():
            if key[1] is not None or "error" not in records[key]:
                differing["unknown to python"] += 1
                self.wrong(f"{command} finds a frame that python-blosc2 does not", key)
        print(f"{command}: {compared} compared, {differing.total()} values differ")
        if left_out:
            print(f"  {left_out:6}  without an array, which ls does not list")
        if without_nchunks:
            print(f"  {without_nchunks:6}  without a number of chunks, as they have different sizes")
        self.counts("differing, by field", differing)
        self.counts("refused by both", both_refuse)
        self.counts("refused by python-blosc2 only, and what b2nd says", only_python_refuses)

    def check(self, python, records):
        """An error is right only where python-blosc2 does not read all the data."""
        with_errors = {key: record for key, record in records.items() if errors(record)}
        reads = ask(sorted({path for path, _ in with_errors}), read=True)
        right = collections.Counter()
        false_alarms = collections.Counter()
        for key, record in with_errors.items():
            answer = reads.get(key, {"refused": "not opened"})
            for code in errors(record):
                reason = answer.get("refused") or WRITTEN_REASONS.get(code)
                if reason:
                    right[f"{code}: {reason}"] += 1
                else:
                    false_alarms[code] += 1
                    self.wrong(f"check: {code}, but python-blosc2 reads it: {record['findings']}", key)
        warnings = collections.Counter(
            finding["code"]
            for record in records.values()
            for finding in record.get("findings", [])
            if finding["severity"] == "warning"
        )
        self.counts("warnings of check", warnings)
        self.counts("errors of check, and what python-blosc2 says when it reads the data", right)
        self.counts("false alarms of check", false_alarms)

    def end(self, files):
        self.counts("not kept", self.notes)
        print(f"{len(files)} files, {self.failures} faults")
        return 1 if self.failures else 0


def outcome(record):
    """What b2nd makes of a frame that python-blosc2 does not read."""
    if "error" in record:
        return record["error"]["kind"]
    return ", ".join(errors(record)) or "no error"


def errors(record):
    return [finding["code"] for finding in record.get("findings", []) if finding["severity"] == "error"]


def differences(theirs, ours):
    """The fields whose values differ: name, theirs, ours."""
    for field in FRAME_FIELDS:
        is_left_out = field == "nchunks" and ours[field] is None
        if ours[field] != theirs[field] and not is_left_out:
            yield field, theirs[field], ours[field]
    if theirs["is_array"] != (ours["metalayer"] == "b2nd"):
        yield "array", theirs["is_array"], ours["metalayer"]
    elif theirs["is_array"]:
        for field in ARRAY_FIELDS:
            is_same = same_dtype if field == "dtype" else lambda a, b: a == b
            if not is_same(ours[field], theirs[field]):
                yield field, theirs[field], ours[field]
    names = sorted(layer["name"] for layer in ours["metalayers"])
    if names != theirs["metalayers"]:
        yield "metalayers", theirs["metalayers"], names
    if ours["has_vlmetalayers"] != bool(theirs["vlmetalayers"]):
        yield "has_vlmetalayers", theirs["vlmetalayers"], ours["has_vlmetalayers"]
    # Only `info` reads the trailer.
    if "vlmetalayers" in ours:
        names = sorted(layer["name"] for layer in ours["vlmetalayers"])
        if names != theirs["vlmetalayers"]:
            yield "vlmetalayers", theirs["vlmetalayers"], names


def same_dtype(ours, theirs):
    return ours == theirs or as_dtype(ours) == as_dtype(theirs)


def as_dtype(text):
    """A dtype by its text, which is a literal for structured ones."""
    return np.dtype(ast.literal_eval(text) if text[0] in "[{(" else text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
