"""Requests made from the published description, within its bounds and beyond them: no fault of ours, and no status or
body that is not written there.
"""

import warnings
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from werkzeug.wrappers import Request

from functions.local.app import application
from functions.manage.handle import router as manage_router
from functions.query.handle import router as query_router
from tests.integration.one_machine import BASE, OneMachine, content

with warnings.catch_warnings():
    # What the library imports warns of its own future.
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.core.errors import InvalidSchema
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        response_schema_conformance,
        status_code_conformance,
    )

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 25


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    opened = OneMachine(tmp_path_factory.mktemp("schemathesis"))
    opened.runtime.manage.upload(BASE, "um.md", content("um", 1, 2), "")
    opened.settle()
    yield opened
    opened.runtime.close()


def served(router):
    def serve(environ, start_response):
        return router(Request(environ))(environ, start_response)

    return serve


def run(cases, checks):
    """Ask for some of the cases, the same ones each time, and hold every answer against the description."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def ask(case):
        case.call_and_validate(checks=checks)

    ask()


# A form holds texts: whatever else is put in it arrives as one. A batch tells in its answer which messages are none.
TOLERANT = {"POST /v1/bases/{base}/documents", "POST /mcp"}
POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE


@pytest.mark.parametrize(
    ("function", "mode"),
    [("query", POSITIVE), ("query", NEGATIVE), ("manage", POSITIVE), ("manage", NEGATIVE), ("machine", POSITIVE)],
)
def test_nothing_breaks_and_nothing_is_answered_that_is_not_written(machine, function, mode):
    apps = {"query": query_router, "manage": manage_router}
    app = served(apps[function](machine.runtime)) if function in apps else application(machine.runtime)
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)
    asked = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        if function == "machine" and "/uploads/" not in operation.path:
            continue
        rejected = mode is NEGATIVE and operation.label not in TOLERANT
        checks = [*CHECKS, negative_data_rejection] if rejected else CHECKS
        known = {"base": BASE} if "{base}" in operation.path and operation.method != "delete" else {}

        asked.add(operation.label)
        # What takes nothing can be given nothing wrong; and of a schema that refers to itself (which test_openapi holds
        # valid) the generator cannot always make a wrong value, depending on what else the process has loaded.
        with suppress(Unsatisfiable, InvalidSchema):
            run(operation.as_strategy(mode, path_parameters=known), checks)
    assert len(asked) >= {"query": 6, "manage": 6, "machine": 1}[function]
