"""Embedding models of Amazon Bedrock: Titan, which takes one text a request, and Cohere. The credentials and the region
are those that boto3 finds.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    NoRegionError,
)

from common.adapters.json_endpoint import json_object
from common.adapters.remote_embedder import MOST_PASSAGES, NotNow, RemoteEmbedder, Role
from common.domain.errors import Misconfigured, PassagesRejected, ProviderRefuses, Unavailable
from common.domain.providers import remote_model

CONNECT_SECONDS: Final = 4.0
READ_SECONDS: Final[Mapping[Role, float]] = {"query": 4.0, "passage": 30.0}
_INPUT: Final[Mapping[Role, str]] = {"query": "search_query", "passage": "search_document"}
_NO_CREDENTIALS: Final = (NoCredentialsError, NoAuthTokenError, CredentialRetrievalError)
_REFUSED_STATUS: Final = frozenset({401, 403})
_REFUSED: Final = frozenset({"AccessDeniedException", "ExpiredTokenException", "UnrecognizedClientException"})
_UNKNOWN: Final = 404
_REJECTED: Final = frozenset({400, 413, 422})
_CROWDED: Final = frozenset({"ServiceQuotaExceededException", "ThrottlingException"})


def bedrock_embedder(model: str, url: str = "", session: boto3.Session | None = None) -> RemoteEmbedder:
    """The embedder of a Titan or Cohere model. Raises Misconfigured for another one, and where no region is set."""
    # An inference profile's id begins with its region: us.cohere.embed-v4:0.
    known = remote_model(next((model[at:] for at in (model.find("amazon."), model.find("cohere.")) if at >= 0), model))
    return RemoteEmbedder(model, known, BedrockEndpoint(model, url, session))


class BedrockEndpoint:
    """Endpoint over InvokeModel, at `url` where one is given (a private endpoint)."""

    provider = "bedrock"
    who = "bedrock"

    def __init__(self, model: str, url: str = "", session: boto3.Session | None = None) -> None:
        """Raises Misconfigured for a model whose requests are not known here, and where no region is set."""
        self._cohere = "cohere.embed" in model
        if not self._cohere and "amazon.titan-embed-text" not in model:
            raise Misconfigured(
                "KB_EMBED_PROVIDER=bedrock knows the models amazon.titan-embed-text... and cohere.embed...: "
                "check KB_EMBEDDING_MODEL."
            )
        self.per_request = MOST_PASSAGES if self._cohere else 1
        told = _INPUT if self._cohere else {}
        self.query_prefix, self.passage_prefix = (f"input_type={told[role]}: " if told else "" for role in READ_SECONDS)
        self._model = model
        self._url = url
        self._session = session or boto3.Session()
        self._opening = threading.Lock()
        self._clients: dict[Role, Any] = {}
        self._client("query")

    def ask(self, texts: Sequence[str], role: Role, seconds: float) -> Sequence[Any]:  # noqa: ARG002 - the client's own
        """The vectors of one request. See the port of remote_embedder."""
        try:
            answer = json_object(self._invoked(self._body(texts, role), role), self.who)
        except Unavailable as error:
            raise NotNow(str(error)) from error
        except ClientError as error:
            raise self._refusal(error) from error
        except _NO_CREDENTIALS as error:
            raise ProviderRefuses(f"bedrock: {error}") from error
        except BotoCoreError as error:
            raise NotNow(f"bedrock did not answer ({type(error).__name__})") from error
        return self._vectors(answer)

    def _invoked(self, body: Mapping[str, Any], role: Role) -> bytes:
        response = self._client(role).invoke_model(
            modelId=self._model,
            body=json.dumps(body).encode(),
            contentType="application/json",
            accept="application/json",
        )
        data: bytes = response["body"].read()
        return data

    def _client(self, role: Role) -> Any:  # noqa: ANN401 - no types without another package
        with self._opening:
            if role not in self._clients:
                config = Config(
                    connect_timeout=CONNECT_SECONDS,
                    read_timeout=READ_SECONDS[role],
                    # Asked again by the embedder, which knows when to stop.
                    retries={"mode": "standard", "total_max_attempts": 1},
                )
                try:
                    self._clients[role] = self._session.client(
                        "bedrock-runtime", endpoint_url=self._url or None, config=config
                    )
                except NoRegionError as error:
                    raise Misconfigured("KB_EMBED_PROVIDER=bedrock needs a region: set AWS_DEFAULT_REGION.") from error
                except ValueError as error:
                    raise Misconfigured("KB_EMBED_URL is no address of Bedrock.") from error
            return self._clients[role]

    def _body(self, texts: Sequence[str], role: Role) -> dict[str, Any]:
        if self._cohere:
            return {"texts": list(texts), "input_type": _INPUT[role], "truncate": "NONE"}
        return {"inputText": texts[0]}

    def _vectors(self, answer: Mapping[str, Any]) -> Sequence[Any]:
        found = answer.get("embeddings") if self._cohere else [answer.get("embedding")]
        # Where types were asked for, or by newer models, the vectors stand under their type.
        if isinstance(found, dict):
            found = found.get("float")
        if not isinstance(found, list):
            raise NotNow("bedrock answered without vectors")
        return found

    def _refusal(self, error: ClientError) -> Exception:
        """Why there are no vectors. Of what is said only code and status are told: it may quote a text."""
        metadata: Mapping[str, Any] = error.response.get("ResponseMetadata", {})
        status, code = int(metadata.get("HTTPStatusCode", 0)), error.response.get("Error", {}).get("Code", "")
        said = f"bedrock answered {status} ({code})"
        if status in _REFUSED_STATUS or code in _REFUSED:
            return ProviderRefuses(f"{said}: the credentials need bedrock:InvokeModel on model {self._model}.")
        if status == _UNKNOWN:
            return ProviderRefuses(f"{said}: check KB_EMBEDDING_MODEL={self._model} and AWS_DEFAULT_REGION.")
        if status in _REJECTED and code not in _CROWDED:
            return PassagesRejected(said)
        after = None
        with suppress(KeyError, ValueError):
            after = max(0.0, float(metadata["HTTPHeaders"]["retry-after"]))
        return NotNow(said, after)
