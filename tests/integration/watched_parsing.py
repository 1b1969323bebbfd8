"""Reads files with the parser of everything while every look at the network and every write is noted; prints both and
how much was read. `python -B -m tests.integration.watched_parsing FILES...` with the work folder as TMPDIR.
"""

import json
import os
import sys
from pathlib import Path

NETWORK = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "poplib.", "imaplib.")
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree"}
PROCESSES = {"subprocess.Popen", "os.system", "os.posix_spawn", "os.fork", "os.exec"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

noted: list[str] = []
watching = False


def note(event: str, arguments: tuple) -> None:
    if not watching:
        return
    opened_to_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
    if event.startswith(NETWORK) or event in CHANGES | PROCESSES or opened_to_write:
        noted.append(f"{event} {arguments[:2]!r}")


def main(names: list[str]) -> None:
    global watching  # noqa: PLW0603 - a hook cannot be taken off again
    sys.addaudithook(note)
    files = {name: Path(name).read_bytes() for name in names}
    watching = True
    from common.reading import document_parser  # noqa: PLC0415 - what is imported is watched too

    parser = document_parser()
    read = {name: sum(len(each.text) for each in parser.parse(data, name).documents) for name, data in files.items()}
    watching = False
    print(json.dumps({"read": read, "noted": noted}))


if __name__ == "__main__":
    main(sys.argv[1:])
