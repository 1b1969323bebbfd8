"""Who signs upload addresses: the private key where there is one, else IAM on the service account's behalf.

On Cloud Run there is none: IAM's signBlob signs, which asks roles/iam.serviceAccountTokenCreator of the service account
on itself, and a token of the cloud-platform scope (the storage client's own tokens are narrower).
"""

from typing import Final

import google.auth
from google.auth.credentials import Credentials, Signing
from google.auth.exceptions import DefaultCredentialsError
from google.auth.iam import Signer
from google.auth.transport import Request
from google.auth.transport.requests import Request as RequestsRequest
from google.oauth2 import service_account

from common.domain.errors import Misconfigured

CLOUD_PLATFORM: Final = "https://www.googleapis.com/auth/cloud-platform"
_TOKEN_URI: Final = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
_UNKNOWN: Final = "default"


def process_signer() -> Signing:
    """The identity of this process as a signer. Raises Misconfigured when it has none that can sign."""
    try:
        credentials, _ = google.auth.default(scopes=[CLOUD_PLATFORM])
    except DefaultCredentialsError as error:
        raise Misconfigured(f"Signed uploads need a service account: {error}") from error
    return signer_of(credentials, RequestsRequest())


def signer_of(credentials: Credentials, request: Request) -> Signing:
    """What signs in the name of these credentials, which have the cloud-platform scope where they have no key.

    Raises Misconfigured for a person's, and google.auth's own errors.
    """
    if isinstance(credentials, Signing):
        return credentials
    email = getattr(credentials, "service_account_email", None)
    if email == _UNKNOWN:
        # The metadata server tells the address only along with a token.
        credentials.refresh(request)
        email = getattr(credentials, "service_account_email", None)
    if not email or email == _UNKNOWN:
        raise Misconfigured("Signed uploads need a service account: these credentials are a person's.")
    return service_account.Credentials(Signer(request, credentials, email), email, _TOKEN_URI)
