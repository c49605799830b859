"""Runs the command b2nd of the same wheel, also where its folder is not in PATH."""

import os
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

NAME = "b2nd" + (sysconfig.get_config_var("EXE") or "")


def candidates():
    """Paths at which an installer may have put the command."""
    # `pip install --target FOLDER` moves the files after it has recorded their paths. So the recorded path of the
    # command is wrong, and the folder `bin` in FOLDER is tried first.
    yield Path(__file__).parent.parent / "bin" / NAME
    # After any other installation, the record has the right path: in a virtual environment, in the folder of a user, or
    # below a prefix.
    try:
        recorded = files("b2nd") or []
    except PackageNotFoundError:
        recorded = []
    yield from (Path(file.locate()) for file in recorded if file.name == NAME)


def main():
    for path in candidates():
        if path.is_file():
            command = [os.fspath(path), *sys.argv[1:]]
            if os.name == "nt":
                # On Windows, `execv` would start another process, and this process would end without waiting for it.
                return subprocess.run(command).returncode
            os.execv(path, command)
    return "python -m b2nd: the command of this wheel is not installed: pip install --force-reinstall b2nd"


if __name__ == "__main__":
    sys.exit(main())
