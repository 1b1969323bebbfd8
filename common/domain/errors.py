"""The error tree: every failure is named for what happened, and carries what its reader needs to act.

FicharioError
|-- DocumentError        the job ends `failed` with a code, a reason and a next step; never retried by itself
|   `-- EmbeddingInvalid one passage's vector is not a direction (NaN, infinity, zero)
|-- Superseded           the object has another current generation: stop, nothing is wrong
|-- ObjectGone           the object no longer exists in the store
|-- LeaseLost            another worker owns the object now: stop, leave the sweep to it
|-- PassagesRejected     the model's provider refuses these texts as they are: halved down to the one at fault
|-- PassageTooLong       a passage exceeds the model's window: a bug of the chunker, never cut in silence
|-- Transient            the broker is to deliver again
|   |-- Busy             a live lease stands on the object
|   `-- Unavailable      a store, index, queue or model does not answer
|       `-- BaseMoves    a base changed each time that it was read
|-- Refused              the caller asked for something that cannot be (HTTP 4xx)
`-- Misconfigured        the process must not start
    |-- ModelMissing
    |-- ModelFilesDiffer
    |-- ProviderRefuses    the model's provider refuses the key, the model or every text
    `-- DataFolderError
"""

from common.domain.codes import FILE_FAULTS, FailureCode


class FicharioError(Exception):
    """Root of everything this product raises on purpose."""


class DocumentError(FicharioError):
    """A permanent failure of one object, in words for the person who uploaded it."""

    def __init__(self, code: FailureCode, reason: str, next_step: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.next_step = next_step

    @property
    def file_fault(self) -> bool:
        """True when the file itself is at fault, so its generation is published with no passages (RULES 4)."""
        return self.code in FILE_FAULTS


class EmbeddingInvalid(DocumentError):
    """The embedder answered something that is not a direction; nothing of it is stored."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(
            "EMBEDDING_INVALID",
            f"Passage {position + 1} could not be embedded: {reason}.",
            "Check the embedding model (`fichario doctor`), then upload the file again.",
        )
        self.position = position


class Superseded(FicharioError):
    """The generation asked for is not the object's current one."""


class ObjectGone(FicharioError):
    """The object no longer exists in the store."""


class SliceOver(FicharioError):
    """The time of one delivery is used up; what is written stays, a continuation does the rest."""


class LeaseLost(FicharioError):
    """The worker's lease was taken over."""


class PassagesRejected(FicharioError):
    """The provider refuses a request for what its texts are; asked again, it would refuse it again."""


class PassageTooLong(FicharioError):
    """A passage does not fit the model's window; embedding it would cut it in silence."""

    def __init__(self, position: int, tokens: int, window: int) -> None:
        super().__init__(f"passage {position} has {tokens} tokens, the model reads {window}")
        self.position = position
        self.tokens = tokens
        self.window = window


class Transient(FicharioError):
    """Trying again later may succeed: the delivery is not acknowledged."""


class Busy(Transient):
    """A live lease stands on the object; the delivery comes back and no attempt is counted."""


class Unavailable(Transient):
    """A component does not answer."""


class BaseMoves(Unavailable):
    """A base changed each time that it was read for one question."""

    def __init__(self, base: str) -> None:
        super().__init__(f"base {base} changes faster than it can be read")


class Refused(FicharioError):
    """A request that cannot be served, as an RFC 9457 problem."""

    def __init__(self, status: int, code: str, detail: str, field: str | None = None, **extra: object) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.field = field
        self.extra = extra


class Misconfigured(FicharioError):
    """The configuration cannot work; the message says what to do."""


class ModelMissing(Misconfigured):
    """The model's folder is not there or not complete."""


class ModelFilesDiffer(Misconfigured):
    """A file of the model is not the one its manifest names."""

    def __init__(self, path: str, expected: str, actual: str) -> None:
        super().__init__(
            f"{path} differs from its manifest: expected sha256 {expected}, found {actual}. "
            "Prepare the model again (`fichario models prepare`) or restore the file."
        )
        self.path = path
        self.expected = expected
        self.actual = actual


class ProviderRefuses(Misconfigured):
    """The provider of the embedding model refuses the key, the model or every text; the message names the setting."""


class DataFolderError(Misconfigured):
    """The data folder is damaged, `locked` by another process, or not what the catalog knows."""

    def __init__(self, message: str, *, locked: bool = False) -> None:
        super().__init__(message)
        self.locked = locked
