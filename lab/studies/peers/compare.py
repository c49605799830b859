"""Compares the output of b2nd about each kept frame with the values of python-blosc2: `compare.py KEPT`.

Exit status 1 if a value differs, or if a frame that python-blosc2 reads is refused or has an error. With
--quick, for a part of the tests, no row of lab/RESULTS.md is written.
"""

import ast
import collections
import sys
import warnings
from pathlib import Path

import numpy as np

from ask import answer, places
from shared import CRASH, HANG, answers
from study import b2nd, report

# The fields that both programs give for every frame, and for an array. If chunks have different sizes, only
# python-blosc2 gives the number of chunks, because this number is not in the frame header.
FRAME_FIELDS = "container", "typesize", "stored_nbytes", "cbytes", "nchunks", "codec", "clevel", "filters"
ARRAY_FIELDS = "shape", "chunks", "blocks", "ndim", "nbytes", "dtype"

HEAD = """\
# The frames of python-blosc2's tests

Written by `lab/run peers`. It keeps each frame that the tests of python-blosc2 write, and compares what `b2nd info`, `b2nd
ls` and `b2nd check` print about it with the values of python-blosc2.

```text
"""

# The number of frames per command.
BATCH = 400
# The maximum number of lines that are printed for a list of counts. The lines with the largest counts are printed.
SHOWN = 12


def main(kept):
    warnings.simplefilter("ignore")
    files = sorted(str(path) for path in kept.glob("*/*") if not path.name.endswith(".partial"))
    if not files:
        sys.exit(f"no frames in {kept}")
    python = ask(files)
    # For the path of a zip file, `info` shows the store and not its frames. So `info` gets the address of each member.
    addresses = [path if member is None else f"{path}:{member}" for path, member in python]
    info = [line for addresses in batches(addresses) for line in b2nd("info", "--json", "--meta", *addresses)]
    ours = {
        "info": Said(info),
        "ls": Said(b2nd("ls", "--json", "--unordered", paths=files)),
        "check": Said(b2nd("check", "--json", "--unordered", paths=files)),
    }
    comparison = Report(read_origins(kept))
    comparison.python(python)
    for command, said in ours.items():
        comparison.compare(command, python, said)
    comparison.check(python, ours["check"].frames)
    comparison.end(files, len(python))


def batches(items):
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


class Said:
    """The output of b2nd. It has the records of frames and of unreadable files, by path and member, and the names of tables. The records
    of stores and tables are left out, because they are not about a single frame."""

    def __init__(self, records):
        key = lambda record: (record["path"], record.get("member"))
        self.frames = {key(record): record for record in records if "offset" in record or "error" in record}
        self.tables = {key(record) for record in records if "rows" in record}

    def is_in_table(self, path, member):
        parts = (member or "").split("/")
        return any((path, "/".join(parts[:count]) or None) in self.tables for count in range(len(parts)))


def ask(files, read=False):
    """The answers of python-blosc2, by path and member."""
    frames = [(path, member, place) for path in files for member, place in places(path)]
    said = [said for some in batches(frames) for said in answers(lambda frame: answer(frame[0], frame[2], read), some)]
    ended = lambda said: {"opens": said, "refused": said} if said in (CRASH, HANG) else said
    return {(path, member): ended(said) for (path, member, _), said in zip(frames, said)}


def read_origins(kept):
    """The test that made each file, and the numbers of frames that were too large or could not be kept."""
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
        self.lines = []

    def say(self, line):
        self.lines.append(line)

    def counts(self, title, counter):
        if counter:
            self.say(f"{title}:")
            for what, count in counter.most_common(SHOWN):
                self.say(f"  {count:6}  {what}")
            if rest := counter.most_common()[SHOWN:]:
                self.say(f"  {sum(count for _, count in rest):6}  of {len(rest)} others")

    def wrong(self, what, key):
        """Counts a difference. The first ones are printed with the test that made the frame."""
        self.failures += 1
        if self.failures <= 40:
            path, member = key
            name = Path(path).name
            place = name if member is None else f"{name}:{member}"
            self.say(f"  {what}\n    {place}\n    from {self.origins.get(name)}")

    def python(self, answers):
        refused = {key: answer for key, answer in answers.items() if "refused" in answer}
        self.say(f"frames: {len(answers)}, of which python-blosc2 reads {len(answers) - len(refused)}")
        kinds = collections.Counter()
        for answer in answers.values():
            layers = ", ".join(answer["frame"]["metalayers"]) if "frame" in answer else "?"
            kinds[f"{layers or '(no metalayer)'}: opened as {answer['opens']}"] += 1
        self.counts("kinds, by metalayers", kinds)
        self.counts("refused", collections.Counter(answer["refused"] for answer in refused.values()))

    def compare(self, command, python, said):
        """Compares the records of one command with the answers of python-blosc2."""
        records = said.frames
        compared, left_out, without_nchunks = 0, 0, 0
        differing = collections.Counter()
        both_refuse = collections.Counter()
        only_python_refuses = collections.Counter()
        for key, answer in python.items():
            # A file that is neither a readable zip file nor a frame has one record, without a member.
            record = records.get(key) or records.get((key[0], None))
            is_array = answer.get("frame", {"is_array": False})["is_array"]
            if record is None and command == "ls" and (not is_array or said.is_in_table(*key)):
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
        self.say(f"{command}: {compared} compared, {differing.total()} values differ")
        if left_out:
            self.say(f"  {left_out:6}  without an array or in a table, which ls does not list")
        if without_nchunks:
            self.say(f"  {without_nchunks:6}  without a number of chunks, as they have different sizes")
        self.counts("differing, by field", differing)
        self.counts("refused by both", both_refuse)
        self.counts("refused by python-blosc2 only, and what b2nd says", only_python_refuses)

    def check(self, python, records):
        """Checks the errors that b2nd reports. An error is right only if python-blosc2 cannot read all the data."""
        with_errors = {key: record for key, record in records.items() if errors(record)}
        reads = ask(sorted({path for path, _ in with_errors}), read=True)
        right = collections.Counter()
        false_alarms = collections.Counter()
        for key, record in with_errors.items():
            answer = reads.get(key, {"refused": "not opened"})
            for code in errors(record):
                if reason := answer.get("refused"):
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

    def end(self, files, frames):
        self.counts("not kept", self.notes)
        self.say(f"{len(files)} files, {self.failures} faults")
        fault = f"{self.failures} faults" if self.failures else None
        text = HEAD + "".join(f"{line}\n" for line in self.lines) + "```\n"
        report("peers", text, f"{frames} frames, {self.failures} faults", fault)


def outcome(record):
    """The answer of b2nd about a frame that python-blosc2 does not read."""
    if "error" in record:
        return record["error"]["kind"]
    return ", ".join(errors(record)) or "no error"


def errors(record):
    return [finding["code"] for finding in record.get("findings", []) if finding["severity"] == "error"]


def differences(theirs, ours):
    """Yields each field that differs: its name, the value of python-blosc2, and the value of b2nd."""
    for field in FRAME_FIELDS:
        if ours[field] != theirs[field] and not is_left_out(field, theirs, ours):
            yield field, theirs[field], ours[field]
    if theirs["is_array"] != (ours["metalayer"] == "b2nd"):
        yield "array", theirs["is_array"], ours["metalayer"]
    elif theirs["is_array"]:
        for field in ARRAY_FIELDS:
            is_same = same_dtype if field == "dtype" else lambda a, b: a == b
            if not is_same(ours[field], theirs[field]) and not is_left_out(field, theirs, ours):
                yield field, theirs[field], ours[field]
    names = sorted(layer["name"] for layer in ours["metalayers"])
    if names != theirs["metalayers"]:
        yield "metalayers", theirs["metalayers"], names
    if ours["has_vlmetalayers"] != bool(theirs["vlmetalayers"]):
        yield "has_vlmetalayers", theirs["vlmetalayers"], ours["has_vlmetalayers"]
    # Only the records of `info` have vlmetalayers, because the other commands do not read the trailer.
    if "vlmetalayers" in ours:
        names = sorted(layer["name"] for layer in ours["vlmetalayers"])
        if names != theirs["vlmetalayers"]:
            yield "vlmetalayers", theirs["vlmetalayers"], names


def is_left_out(field, theirs, ours):
    """Whether our value may be null, for one of three reasons. The chunks were not counted. Or the header claims more bytes of chunks than
    the file has, as after python-blosc2 deletes chunks. Or the frame was kept during a resize, so its sizes contradict each other."""
    is_torn = field in ("nbytes", "stored_nbytes") and "interrupted-resize" in errors(ours)
    return ours[field] is None and (is_torn or field == "nchunks" or field == "cbytes" and theirs[field] > ours["frame_len"])


def same_dtype(ours, theirs):
    return ours == theirs or as_dtype(ours) == as_dtype(theirs)


def as_dtype(text):
    """A dtype by its text, which is a literal for structured ones."""
    return np.dtype(ast.literal_eval(text) if text[0] in "[{(" else text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
