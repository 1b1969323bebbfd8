"""An application behind a real port of this machine, for clients that bring their own HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from waitress.server import create_server


@contextmanager
def served(application) -> Iterator[str]:
    """The address at which the application answers."""
    server = create_server(application, host="127.0.0.1", port=0, threads=4, ident=None)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.close()
        server.task_dispatcher.shutdown()
        thread.join(timeout=5)
