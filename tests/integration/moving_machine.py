"""One machine under a frozen clock that has the models of two vector spaces, so that its base can be moved."""

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.search import Search
from tests.integration.one_machine import BASE, OneMachine, content


class Moving(OneMachine):
    """A machine that has the models of both collections."""

    def open(self):
        opened = super().open()
        models = {embedder.space.model: embedder for embedder in (self.embedder, self.other)}
        object.__setattr__(opened.spaces, "named", lambda name: models[name])
        object.__setattr__(opened.spaces, "find", lambda space: models[space.model])
        return opened

    other = HashingEmbedder(96)

    @property
    def reindexing(self):
        return self.runtime.reindexing

    @property
    def record(self):
        return self.runtime.catalog.base(BASE)

    @property
    def reindex(self):
        return self.record.reindex

    def begin(self):
        return self.reindexing.start(BASE, self.other.space.model)["id"]

    def put(self, name, version, parts):
        self.names.add(name)
        self.runtime.manage.upload(BASE, f"{name}.md", content(name, version, parts), "text/markdown")

    def fingerprint(self):
        return self.runtime.answers.answer(BASE, Search("docum", mode="lexical", threshold=None)).fingerprint
