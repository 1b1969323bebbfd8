"""Entry point of the ingest function under functions-framework."""

import functions_framework
from cloudevents.http import CloudEvent

from common.bootstrap import process_runtime
from functions.ingest.handle import handle


@functions_framework.cloud_event
def ingest(event: CloudEvent) -> None:
    """Take one event; returning acknowledges it, raising has it delivered again."""
    handle(event, process_runtime())
