"""What is logged of an answer, whatever route gave it."""

from common.domain.search import Answer
from common.logs import log_event


def noticed(found: Answer) -> Answer:
    """The answer as it is; one without vectors leaves a line, which an alert counts."""
    if found.degraded:
        log_event("degraded")
    return found
