"""The route that tells what a base's models were given to do, and what that costs."""

from werkzeug.wrappers import Response

from common.asking import Asking
from common.boundary import Call, Route, answer
from common.domain.usage import usage_view


def routes(runtime: Asking) -> list[Route]:
    """The usage of one base at the configured prices."""

    def usage(call: Call) -> Response:
        runtime.listing.require(call.base)
        return answer(usage_view(call.base, runtime.meter.usage(call.base), runtime.prices))

    return [Route("GET", "/v1/bases/<base>/usage", usage, "read")]
