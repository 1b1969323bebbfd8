"""The Queue port over Pub/Sub, which pushes to the functions: this end only publishes."""

import json
from typing import Any, Final

from google.api_core import exceptions
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import GoogleAuthError
from google.cloud.pubsub_v1 import PublisherClient
from google.cloud.pubsub_v1.publisher.exceptions import MessageTooLargeError

from common.domain.errors import Misconfigured, Unavailable
from common.ports import Message

PATIENCE: Final = 20.0
"""Seconds that one publish may take, repetitions included."""

_PASSING: Final = (
    exceptions.ServiceUnavailable,
    exceptions.InternalServerError,
    exceptions.DeadlineExceeded,
    exceptions.ResourceExhausted,
    exceptions.Aborted,
    exceptions.Cancelled,
    exceptions.Unknown,
)


class PubsubQueue:
    """Queue over the topics of one project. A message is accepted once `publish` has answered.

    Pub/Sub cannot hold a message back, so `delay` is not kept: what comes too early meets a live lease, is refused as
    Busy, and the subscription's retry policy does the waiting.
    """

    def __init__(self, publisher: PublisherClient, project: str, *, patience: float = PATIENCE) -> None:
        self._publisher = publisher
        self._project = project
        self._patience = patience
        self._retry = Retry(
            predicate=if_exception_type(*_PASSING), initial=0.1, maximum=2.0, multiplier=1.6, timeout=patience
        )

    def publish(self, topic: str, message: Message, delay: float = 0.0) -> str:  # noqa: ARG002 - see the class
        """Raises Misconfigured for a topic that does not exist or may not be published to, ValueError for a message
        that no topic takes (10 MB, attributes of 1,024 bytes), Unavailable.
        """
        path = self._publisher.topic_path(self._project, topic)
        data = json.dumps(message.data, separators=(",", ":")).encode()
        try:
            accepted: Any = self._publisher.publish(
                path, data, retry=self._retry, timeout=self._patience, **message.attributes
            )
            return str(accepted.result(timeout=self._patience))
        except MessageTooLargeError as error:
            raise ValueError(f"A message of {len(data)} bytes is more than topic {topic} takes.") from error
        except (exceptions.GoogleAPIError, GoogleAuthError, TimeoutError) as error:
            raise _meaning(error, topic) from error


def _meaning(error: Exception, topic: str) -> Exception:
    match error:
        case exceptions.NotFound():
            return Misconfigured(f"There is no topic {topic}: check GOOGLE_CLOUD_PROJECT and KB_TOPIC_* ({error}).")
        case exceptions.PermissionDenied() | exceptions.Unauthenticated():
            return Misconfigured(
                f"Pub/Sub refuses this identity: it needs roles/pubsub.publisher on {topic} ({error})."
            )
        case GoogleAuthError() if not error.retryable:
            return Misconfigured(f"No Google credentials can be had for Pub/Sub ({error}).")
        case exceptions.InvalidArgument():
            return ValueError(f"Topic {topic} refuses the message: {error}")
        case _:
            return Unavailable(f"Pub/Sub does not answer: {error or type(error).__name__}")
