"""Run `docker exec -i` and hold its standard input open for as long as this program lives.

    in_container.py [--copy CONTAINER:FOLDER] COMMAND...

At the end the folder's files are copied out of the container into the working folder.
The other end is attended.py in the container: when this program ends, even by SIGKILL, so does what
runs there. Standard library only; runs on Python 3.5, which Ubuntu 16.04 has.
"""

import os
import signal
import subprocess
import sys


def main(command):
    """Run the command and return its exit code; 128 + N if signal N ended it."""
    copied = None
    if command[:1] == ["--copy"]:
        copied, command = command[1], command[2:]
    if not command:
        print("usage: in_container.py [--copy CONTAINER:FOLDER] COMMAND...", file=sys.stderr)
        return 2
    reading, writing = os.pipe()
    # The end that is to be closed; the client does not inherit it. A file is closed only once,
    # however many signals come: by then its number may be that of another.
    held = os.fdopen(writing, "wb", 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: held.close())
    try:
        client = subprocess.Popen(command, stdin=reading)
    except OSError as error:
        print("in_container.py:", command[0] + ":", error.strerror, file=sys.stderr)
        return 127
    os.close(reading)
    code = client.wait()
    if copied:
        # Without the files the training is as good; only its transport is not recorded.
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.call([command[0], "cp", copied + "/.", "."], stdin=subprocess.DEVNULL, **quiet)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
