"""Deliveries of the reindex topic: a push of Pub/Sub whose data is one order."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final, get_args

from common.domain.errors import Refused
from common.domain.reindex import Order, OrderKind

COMMANDS: Final[Mapping[str, OrderKind]] = {kind: kind for kind in get_args(OrderKind)}
MAX_OBJECTS: Final = 10_000


def decode_push(body: bytes) -> Mapping[str, Any]:
    """The JSON object that a pushed message carries. Raises Refused 400 for what is no push."""
    try:
        sent = json.loads(body)
        message = sent["message"]
        data = json.loads(base64.b64decode(message.get("data") or "", validate=True))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error, RecursionError) as error:
        raise Refused(400, "NO_EVENT", "Send a push of Pub/Sub whose data is a JSON object.", "body") from error
    if not isinstance(data, dict):
        raise Refused(400, "NO_EVENT", "The message's data is a JSON object.", "body")
    return data


def decode_order(data: Mapping[str, Any]) -> Order | None:
    """The order, None for what no retry would make one: it is acknowledged."""
    base, key, objects = data.get("base", ""), data.get("id", ""), data.get("objects", [])
    command = COMMANDS.get(str(data.get("command")))
    if command is None or not isinstance(base, str) or not isinstance(key, str) or not isinstance(objects, list):
        return None
    if len(objects) > MAX_OBJECTS or not all(isinstance(name, str) for name in objects):
        return None
    return Order(command, base, key, tuple(objects))
