"""Who may embed, and what is known of their models before the first of them is asked. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PROVIDERS: Final = ("fastembed", "openai", "voyage", "ollama", "bedrock", "none")
ADDRESSES: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "voyage": "https://api.voyageai.com/v1",
    "ollama": "http://localhost:11434",
    "bedrock": "",
}
"""Of the providers that are asked over the network; Bedrock's follows from its region."""
FOLDERS: Final = "fastembed"
"""The provider whose models are folders of this machine."""
NO_MODEL: Final = "none"
_OLLAMA_MODEL: Final = "nomic-embed-text"
_NEED_MODEL: Final = frozenset({"openai", "voyage", "bedrock"})
_NEED_KEY: Final = frozenset({"openai", "voyage"})


@dataclass(frozen=True, slots=True)
class Provider:
    """Who embeds for new bases, where, and with which key: KB_EMBED_PROVIDER, KB_EMBED_URL and KB_EMBED_API_KEY."""

    name: str = FOLDERS
    url: str = ""
    key: str = field(default="", repr=False)

    def asked_for(self, provider: str) -> "Provider | None":
        """The provider named, with what these settings hold for it; None where they lack something. A key goes to no
        address but the one that it was set for.
        """
        if provider == self.name:
            return Provider(provider, self.url or ADDRESSES.get(provider, ""), self.key)
        if provider not in _NEED_KEY:
            return Provider(provider, ADDRESSES.get(provider, ""))
        if self.url and self.name not in ADDRESSES:
            return Provider(provider, self.url, self.key)
        return None


def default_model(provider: str, fallback: str) -> str:
    """The model where KB_EMBEDDING_MODEL names none; `fallback` is that of a model folder."""
    return {"ollama": _OLLAMA_MODEL, FOLDERS: fallback, NO_MODEL: NO_MODEL}.get(provider, "")


def provider_problems(provider: Provider, model: str) -> list[str]:
    """What the settings of a provider lack."""
    said = f"KB_EMBED_PROVIDER={provider.name} needs"
    problems = []
    if provider.name in _NEED_MODEL and not model:
        problems.append(f"{said} KB_EMBEDDING_MODEL.")
    if provider.name in _NEED_KEY and not (provider.key or provider.url):
        problems.append(f"{said} KB_EMBED_API_KEY, or KB_EMBED_URL for an endpoint that asks for no key.")
    return problems


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model behind an address: the tokens it reads at once, and what is put in front of its texts."""

    window: int
    query_prefix: str = ""
    passage_prefix: str = ""


LEAST_WINDOW: Final = 512
"""Of a model nobody knows: what the smallest common ones read."""
_MODELS: Final[Mapping[str, RemoteModel]] = {
    "text-embedding-3-small": RemoteModel(8191),
    "text-embedding-3-large": RemoteModel(8191),
    "text-embedding-ada-002": RemoteModel(8191),
    "voyage-3": RemoteModel(32_000),
    "voyage-3-large": RemoteModel(32_000),
    "voyage-3-lite": RemoteModel(32_000),
    "voyage-3.5": RemoteModel(32_000),
    "voyage-3.5-lite": RemoteModel(32_000),
    "voyage-code-3": RemoteModel(32_000),
    "nomic-embed-text": RemoteModel(2048, "search_query: ", "search_document: "),
    "mxbai-embed-large": RemoteModel(512, "Represent this sentence for searching relevant passages: "),
    "all-minilm": RemoteModel(256),
    "amazon.titan-embed-text-v1": RemoteModel(8192),
    "amazon.titan-embed-text-v2": RemoteModel(8192),
}


def remote_model(name: str) -> RemoteModel:
    """What is known of a model by its name, with or without a tag (`:latest`, `:0`)."""
    return _MODELS.get(name.split(":", 1)[0], RemoteModel(LEAST_WINDOW))
