-- Definitions and what was dispatched.
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    store_time REAL NOT NULL,
    next_claim INTEGER NOT NULL
);
INSERT INTO meta (one, store_time, next_claim) VALUES (1, 0, 1);

CREATE TABLE definitions (hash TEXT PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE closures (hash TEXT PRIMARY KEY, members TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE dispatch_keys (
    account TEXT NOT NULL, key TEXT NOT NULL, run TEXT NOT NULL,
    PRIMARY KEY (account, key)
) WITHOUT ROWID;

CREATE TABLE runs (
    num INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL,
    workflow TEXT NOT NULL,
    status TEXT NOT NULL,
    dispatched_at REAL NOT NULL,
    deadline REAL,
    ended_at REAL,
    code TEXT,
    starter TEXT,
    version INTEGER NOT NULL,
    head BLOB NOT NULL,
    inputs BLOB NOT NULL,
    sealed INTEGER NOT NULL,
    known BLOB
);
CREATE INDEX runs_by_status ON runs (status, num);
CREATE INDEX runs_by_workflow ON runs (account, workflow, num);
CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_by_starter ON runs (starter, num) WHERE starter IS NOT NULL;

-- The inside of a run.
CREATE TABLE frames (
    run TEXT NOT NULL, prefix TEXT NOT NULL, sealed INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run, prefix)
) WITHOUT ROWID;
CREATE TABLE vals (
    run TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, visit INTEGER NOT NULL, rank INTEGER NOT NULL,
    sealed INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run, scope, name)
) WITHOUT ROWID;
CREATE TABLE comps (
    run TEXT NOT NULL, seq INTEGER NOT NULL, sealed INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE TABLE signals (
    run TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, consumed INTEGER NOT NULL,
    sealed INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX signals_by_id ON signals (run, id);

-- Work, and who does it.
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    path TEXT NOT NULL,
    visit INTEGER NOT NULL,
    kind TEXT NOT NULL,
    block TEXT NOT NULL,
    ready_at REAL NOT NULL,
    worker TEXT,
    claim INTEGER NOT NULL,
    sealed INTEGER NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX tasks_ready ON tasks (ready_at) WHERE worker IS NULL;
CREATE INDEX tasks_by_worker ON tasks (worker) WHERE worker IS NOT NULL;
CREATE INDEX tasks_by_run ON tasks (run);
CREATE TABLE workers (id TEXT PRIMARY KEY, beat INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE timers (
    run TEXT NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL, visit INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (run, kind, path)
) WITHOUT ROWID;
CREATE INDEX timers_due ON timers (at);

-- Leases.  Keys are never removed: their tickets and fences must not repeat.
CREATE TABLE keys (
    account TEXT NOT NULL, key TEXT NOT NULL, lim INTEGER,
    next_ticket INTEGER NOT NULL, next_fence INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) WITHOUT ROWID;
CREATE TABLE holders (
    account TEXT NOT NULL, key TEXT NOT NULL, run TEXT NOT NULL,
    fence INTEGER NOT NULL, since REAL NOT NULL, review INTEGER NOT NULL,
    PRIMARY KEY (account, key, run)
) WITHOUT ROWID;
CREATE INDEX holders_by_run ON holders (run);
CREATE TABLE holds (
    account TEXT NOT NULL, key TEXT NOT NULL, run TEXT NOT NULL, path TEXT NOT NULL, lifetime TEXT NOT NULL,
    PRIMARY KEY (account, key, run, path)
) WITHOUT ROWID;
CREATE TABLE tickets (
    account TEXT NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, run TEXT NOT NULL,
    path TEXT NOT NULL, visit INTEGER NOT NULL, lifetime TEXT NOT NULL, since REAL NOT NULL,
    PRIMARY KEY (account, key, number)
) WITHOUT ROWID;
CREATE INDEX tickets_by_run ON tickets (run, key);

-- Admission.
CREATE TABLE queues (
    account TEXT NOT NULL, workflow TEXT NOT NULL, next_position INTEGER NOT NULL,
    PRIMARY KEY (account, workflow)
) WITHOUT ROWID;
CREATE TABLE slots (
    account TEXT NOT NULL, workflow TEXT NOT NULL, run TEXT NOT NULL, skey TEXT,
    PRIMARY KEY (account, workflow, run)
) WITHOUT ROWID;
CREATE INDEX slots_by_key ON slots (account, workflow, skey) WHERE skey IS NOT NULL;
CREATE TABLE waiting (
    account TEXT NOT NULL, workflow TEXT NOT NULL, position INTEGER NOT NULL, run TEXT NOT NULL,
    lim INTEGER NOT NULL, skey TEXT,
    PRIMARY KEY (account, workflow, position)
) WITHOUT ROWID;
CREATE INDEX waiting_by_run ON waiting (run);
CREATE INDEX waiting_by_key ON waiting (account, workflow, skey) WHERE skey IS NOT NULL;

-- Waits for other runs.
CREATE TABLE waits (
    run TEXT NOT NULL, path TEXT NOT NULL, visit INTEGER NOT NULL, kind TEXT NOT NULL, need INTEGER NOT NULL,
    PRIMARY KEY (run, path)
) WITHOUT ROWID;
CREATE TABLE deps (
    run TEXT NOT NULL, path TEXT NOT NULL, on_run TEXT NOT NULL, visit INTEGER NOT NULL,
    PRIMARY KEY (run, path, on_run)
) WITHOUT ROWID;
CREATE INDEX deps_by_target ON deps (on_run);

-- Messages between cells that another transaction will work, and the log.
CREATE TABLE inbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, path TEXT, visit INTEGER, data TEXT
);
CREATE INDEX events_by_run ON events (run, seq);
