"""An application behind a real port of this machine, for clients that bring their own HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from werkzeug.serving import WSGIRequestHandler, make_server


class _Quiet(WSGIRequestHandler):
    def log(self, *_):
        """Say nothing."""


@contextmanager
def served(application) -> Iterator[str]:
    """The address at which the application answers."""
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
