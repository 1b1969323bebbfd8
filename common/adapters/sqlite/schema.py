"""Tables of the one-machine database. Records are JSON text; only what a query selects or sums by is a column."""

from typing import Final

APPLICATION_ID: Final = 0x46494348
"""`FICH` in SQLite's header: tells our file from another program's."""

VERSION: Final = 1

USAGE: Final = """
CREATE TABLE IF NOT EXISTS usage (
    base TEXT NOT NULL, kind TEXT NOT NULL, calls INTEGER NOT NULL, tokens INTEGER NOT NULL, written INTEGER NOT NULL,
    PRIMARY KEY (base, kind)
) WITHOUT ROWID;
"""

QUESTIONS: Final = """
CREATE TABLE IF NOT EXISTS questions (
    base TEXT NOT NULL, origin TEXT NOT NULL, digest TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (base, origin, digest)
) WITHOUT ROWID;
"""

ADDED: Final = {"usage": USAGE, "questions": QUESTIONS}
"""Files of version 1 may lack them: each is made where it is missing when one is opened."""

TABLES: Final = f"""
{USAGE}
{QUESTIONS}
CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE epochs (base TEXT PRIMARY KEY, epoch INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE bases (base TEXT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE collections (
    base TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (base, name)
);

CREATE TABLE objects (
    base TEXT NOT NULL, name TEXT NOT NULL, live INTEGER, stale INTEGER NOT NULL, leased INTEGER NOT NULL,
    documents INTEGER NOT NULL, passages INTEGER NOT NULL, tokens INTEGER NOT NULL, size INTEGER NOT NULL,
    record TEXT NOT NULL, PRIMARY KEY (base, name)
);
CREATE INDEX objects_live ON objects (base, name, live, stale);
CREATE INDEX objects_totals ON objects (base, documents, passages, tokens, size) WHERE live IS NOT NULL;
CREATE INDEX objects_leased ON objects (base, name) WHERE leased;

CREATE TABLE documents (
    base TEXT NOT NULL, object TEXT NOT NULL, generation INTEGER NOT NULL, source TEXT NOT NULL,
    document_id TEXT NOT NULL, external_id TEXT NOT NULL, stem TEXT NOT NULL,
    record TEXT NOT NULL, PRIMARY KEY (base, object, generation, source)
);
CREATE INDEX documents_source ON documents (base, source, object, generation);
CREATE INDEX documents_id ON documents (base, document_id);
CREATE INDEX documents_external ON documents (base, external_id) WHERE external_id <> '';
CREATE INDEX documents_stem ON documents (base, stem);

CREATE TABLE jobs (
    base TEXT NOT NULL, job_id TEXT NOT NULL, state TEXT NOT NULL, created_at REAL NOT NULL,
    record TEXT NOT NULL, PRIMARY KEY (base, job_id)
);
CREATE INDEX jobs_newest ON jobs (base, created_at, job_id);
CREATE INDEX jobs_state ON jobs (base, state, created_at, job_id);

CREATE TABLE generations (
    base TEXT NOT NULL, name TEXT NOT NULL, identity TEXT NOT NULL, generation INTEGER NOT NULL,
    present INTEGER NOT NULL, PRIMARY KEY (base, name)
) WITHOUT ROWID;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, due REAL NOT NULL, body TEXT NOT NULL,
    held INTEGER NOT NULL DEFAULT 0, dead INTEGER NOT NULL DEFAULT 0, deliveries INTEGER NOT NULL DEFAULT 0,
    counted INTEGER NOT NULL DEFAULT 0, uncounted INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX messages_due ON messages (topic, dead, due, id);
"""
