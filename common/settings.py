"""What is configured, read once from the environment. All problems are reported at once; secrets never print."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from sys import float_info
from typing import Any, Final, TypeVar

from common.domain.buckets import CloudBucket, bucket_problems, cloud_bucket, no_bucket
from common.domain.errors import Misconfigured
from common.domain.providers import PROVIDERS, Provider, default_model, provider_problems

SECRETS: Final = frozenset(
    {
        "qdrant_api_key",
        "kb_jwt_secret",
        "kb_rerank_api_key",
        "kb_embed_api_key",
        "kb_writeback_password",
        "redis_url",
    }
)


MULTILINGUAL: Final = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"


_Number = TypeVar("_Number", int, float)


class _Wrong(ValueError):
    """A value that its setting cannot take; the message says what it takes."""


def _flag(value: str) -> bool:
    if value.lower() in {"true", "1", "yes", "on"}:
        return True
    if value.lower() in {"false", "0", "no", "off"}:
        return False
    raise _Wrong("is true or false")


def _bounded(kind: Callable[[str], _Number], low: _Number, high: _Number, says: str) -> Callable[[str], _Number]:
    """Reads a number from `low` to `high`."""

    def parse(value: str) -> _Number:
        try:
            number = kind(value)
        except ValueError:
            raise _Wrong(says) from None
        if not low <= number <= high:
            raise _Wrong(says)
        return number

    return parse


def _whole(low: int, high: int = 2**31) -> Callable[[str], int]:
    return _bounded(int, low, high, f"is a whole number from {low} to {high}")


_seconds: Final = _bounded(float, 0.0, float_info.max, "is a number of seconds, 0 or more")
_deadline: Final = _bounded(float, 0.1, 600.0, "is a number of seconds from 0.1 to 600")
_price: Final = _bounded(float, 0.0, float_info.max, "is a number of dollars, 0 or more")
_share: Final = _bounded(float, 0.0, 1.0, "is a share from 0 to 1")
_cosine: Final = _bounded(float, -1.0, 1.0, "is auto, off or a number from -1 to 1")


def _one_of(*values: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value not in values:
            raise _Wrong(f"is one of {', '.join(values)}")
        return value

    return parse


def _threshold(value: str) -> float | str:
    if value == "auto":
        return value
    return "off" if value in {"off", "null"} else _cosine(value)


def _template(value: str) -> str:
    if value.count("{base}") != 1 or value == "{base}":
        raise _Wrong("holds {base} exactly once, and more than that")
    return value


def _chunk_tokens(value: str) -> int:
    return 0 if value == "auto" else _whole(32, 8192)(value)


def _line(longest: int) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if not (value.isprintable() and len(value) <= longest):
            raise _Wrong(f"is one line of at most {longest} characters")
        return value

    return parse


def _counter(value: str) -> str:
    if value == "estimate" or value.startswith("tiktoken:") or value.endswith(".json"):
        return value
    raise _Wrong("is estimate, tiktoken:<encoding> or the path of a tokenizer.json")


def _setting(default: Any, parse: Callable[[str], Any] = str, says: str = "") -> Any:  # noqa: ANN401
    return field(default=default, metadata={"parse": parse, "says": says})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting under its own name in lower case; the field's `says` is the line of README's table."""

    kb_mode: str = _setting("local", _one_of("local", "cloud"), "one machine, or Google Cloud")
    kb_data_dir: str = _setting(".fichario", says="all state of one machine")
    kb_bucket: str = _setting(
        "",
        says="the watched folder (default `<data>/bucket`), or the bucket: `gs://name` (or the name alone), `s3://name`",
    )
    qdrant_url: str = _setting("", says="address of the Qdrant server")
    qdrant_api_key: str = _setting("", says="its key")
    kb_embedding_model: str = _setting("", says="model of new bases (one machine: e5-small-enpt)")
    kb_model_dir: str = _setting("", says="parent of the model folders (default `<data>/models`)")
    kb_collection_template: str = _setting("{base}_kb", _template, "the alias outside readers know")
    kb_similarity_threshold: float | str = _setting("auto", _threshold, "auto, off, or a fixed cosine")
    kb_top_k: int = _setting(5, _whole(1, 50), "passages per answer")
    kb_cache_ttl: float = _setting(600.0, _seconds, "seconds an answer may be served from the cache")
    kb_deadline_seconds: float = _setting(10.0, _deadline, "a question's deadline; its vector has half of it")
    kb_epoch_ttl: float = _setting(0.0, _seconds, "seconds an epoch may be remembered; 0 reads it each time")
    kb_epoch_shards: int = _setting(
        4, _whole(1, 64), "counters that share the epoch's writes (Firestore); change it only while nothing runs"
    )
    kb_cache_max_mb: int = _setting(64, _whole(0, 65536), "memory of the caches")
    redis_url: str = _setting("", says="cache shared by instances")
    kb_normalize: str = _setting("stem", _one_of("stem", "fold", "off"), "how words meet")
    kb_fusion: str = _setting("sum", _one_of("sum", "minmax", "rrf"), "how both rankings are joined")
    kb_chunk_tokens: int = _setting(0, _chunk_tokens, "passage size; auto keeps paragraphs apart")
    kb_chunk_overlap: int = _setting(0, _whole(0, 512), "tokens of overlap, in embedded text only")
    kb_max_file_mb: int = _setting(100, _whole(0), "size of one object; 0 = no limit")
    kb_max_base_mb: int = _setting(100, _whole(0), "size of one base; 0 = no limit")
    kb_max_documents: int = _setting(5000, _whole(0), "documents of one base; 0 = no limit")
    kb_ocr: str = _setting("off", _one_of("off", "tesseract"), "read scanned pages with tesseract")
    kb_slice_seconds: float = _setting(480.0, _seconds, "work between two checkpoints that hand over")
    kb_max_attempts: int = _setting(3, _whole(1, 100), "attempts without progress before a job fails")
    kb_auth: str = _setting("none", _one_of("none", "jwt", "iam"), "who may ask")
    kb_jwks_url: str = _setting("", says="keys of the token's issuer")
    kb_jwt_secret: str = _setting("", says="HS256 secret, instead of keys")
    kb_jwt_audience: str = _setting("", says="required `aud`")
    kb_jwt_issuer: str = _setting("", says="required `iss`")
    kb_iam_audience: str = _setting("", says="`aud` of Google-signed identities")
    kb_iam_bases: str = _setting("", says="JSON: e-mail -> {bases, scope}")
    kb_rerank: str = _setting("off", _one_of("off", "mmr", "llm"), "default reordering")
    kb_rerank_url: str = _setting("", says="OpenAI-compatible endpoint of the reranker")
    kb_rerank_model: str = _setting("", says="its model")
    kb_rerank_api_key: str = _setting("", says="its key")
    kb_price_embedding: float = _setting(0.0, _price, "dollars for a million embedded tokens; 0 for a local model")
    kb_price_rerank_input: float = _setting(0.0, _price, "the same for what a reranker reads")
    kb_price_rerank_output: float = _setting(0.0, _price, "and for what it writes")
    kb_context_characters: int = _setting(24000, _whole(1), "default budget over several bases")
    kb_context_label: str = _setting("Documento", _line(40), "what a document is called in a block of context")
    kb_truncation_mark: str = _setting("[conteúdo truncado]", _line(100), "what a text that was cut ends in")
    kb_token_counter: str = _setting("estimate", _counter, "estimate, tiktoken:<encoding>, or a tokenizer.json")
    kb_redact: str = _setting("secrets", _one_of("off", "secrets"), "mask secrets in context and prompt")
    kb_keep_questions: str = _setting(
        "hashed", _one_of("off", "hashed", "text"), "keep real questions: not, by hash, or (your consent) their words"
    )
    kb_embed_provider: str = _setting(
        "fastembed", _one_of(*PROVIDERS), "who embeds: a model folder, a provider, or none (words alone)"
    )
    kb_embed_url: str = _setting("", says="its address, where it is not the provider's own")
    kb_embed_api_key: str = _setting("", says="its key")
    kb_writeback_url: str = _setting("", says="where a base's alias is told")
    kb_writeback_enabled: bool = _setting(default=False, parse=_flag, says="tell it")
    kb_writeback_token_url: str = _setting("", says="where its token comes from")
    kb_writeback_email: str = _setting("", says="who asks for the token")
    kb_writeback_password: str = _setting("", says="with which password")
    enable_knowledge_base: bool = _setting(default=True, parse=_flag, says="false answers NO_KB_MATCH at once")
    google_cloud_project: str = _setting("", says="project of Firestore and Pub/Sub")
    kb_firestore_database: str = _setting("(default)", says="its Firestore database")
    kb_topic_events: str = _setting("kb-events", says="topic of the bucket's notifications")
    kb_topic_reindex: str = _setting("kb-reindex", says="topic of reindex commands")
    kb_reindex_tolerance: float = _setting(
        0.03, _share, "the share of questions by which a new collection may be worse"
    )
    kb_reindex_grace_hours: float = _setting(72.0, _seconds, "hours an old collection is kept behind a switch")
    kb_log_level: str = _setting("INFO", _one_of("DEBUG", "INFO", "WARNING", "ERROR"), "what is logged")

    @property
    def data(self) -> Path:
        return Path(self.kb_data_dir)

    @property
    def bucket(self) -> Path:
        """The watched folder of one machine."""
        return Path(self.kb_bucket) if self.kb_bucket else self.data / "bucket"

    @property
    def cloud_bucket(self) -> CloudBucket:
        """The bucket in the cloud. Raises Misconfigured where KB_BUCKET names none."""
        bucket = cloud_bucket(self.kb_bucket)
        if bucket is None:
            raise Misconfigured(no_bucket(self.kb_bucket))
        return bucket

    @property
    def models(self) -> Path:
        return Path(self.kb_model_dir) if self.kb_model_dir else self.data / "models"

    @property
    def model(self) -> str:
        shipped = "e5-small-enpt" if self.kb_mode == "local" else MULTILINGUAL
        return self.kb_embedding_model or default_model(self.kb_embed_provider, shipped)

    @property
    def provider(self) -> Provider:
        return Provider(self.kb_embed_provider, self.kb_embed_url, self.kb_embed_api_key)

    def shown(self) -> dict[str, str]:
        """Every setting as text under its environment name, secrets as `***`."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {n.upper(): "***" if n in SECRETS and v else str(v) for n, v in values.items()}


def read_settings(environment: Mapping[str, str] | None = None, **overrides: str) -> Settings:
    """The settings of this environment, `overrides` by field name. Raises Misconfigured with every problem."""
    given = {k.lower(): v for k, v in (os.environ if environment is None else environment).items()}
    given |= overrides
    values: dict[str, Any] = {}
    problems = []
    for setting in fields(Settings):
        text = given.get(setting.name, "").strip()
        if not text:
            continue
        try:
            values[setting.name] = setting.metadata["parse"](text)
        except _Wrong as wrong:
            shown = "***" if setting.name in SECRETS else repr(text)
            problems.append(f"{setting.name.upper()} {wrong}, not {shown}.")
    settings = Settings(**values)
    problems += _contradictions(settings)
    if problems:
        raise Misconfigured("\n".join(problems))
    return settings


def _contradictions(s: Settings) -> list[str]:
    problems = []
    if s.kb_auth == "jwt" and bool(s.kb_jwks_url) == bool(s.kb_jwt_secret):
        problems.append("KB_AUTH=jwt takes exactly one of KB_JWKS_URL and KB_JWT_SECRET.")
    if s.kb_auth == "iam" and not (s.kb_iam_audience and s.kb_iam_bases):
        problems.append("KB_AUTH=iam needs KB_IAM_AUDIENCE and KB_IAM_BASES.")
    if s.kb_mode == "cloud":
        needed = {"QDRANT_URL": s.qdrant_url, "KB_BUCKET": s.kb_bucket, "GOOGLE_CLOUD_PROJECT": s.google_cloud_project}
        problems += [f"KB_MODE=cloud needs {name}." for name, value in needed.items() if not value]
    problems += bucket_problems(s.kb_mode, s.kb_bucket)
    if s.kb_writeback_enabled:
        needed = {
            "KB_WRITEBACK_URL": s.kb_writeback_url,
            "KB_WRITEBACK_TOKEN_URL": s.kb_writeback_token_url,
            "KB_WRITEBACK_EMAIL": s.kb_writeback_email,
            "KB_WRITEBACK_PASSWORD": s.kb_writeback_password,
        }
        problems += [f"KB_WRITEBACK_ENABLED needs {name}." for name, value in needed.items() if not value]
    if s.kb_rerank == "llm" and not (s.kb_rerank_url and s.kb_rerank_model):
        problems.append("KB_RERANK=llm needs KB_RERANK_URL and KB_RERANK_MODEL.")
    problems += provider_problems(s.provider, s.kb_embedding_model)
    return problems
