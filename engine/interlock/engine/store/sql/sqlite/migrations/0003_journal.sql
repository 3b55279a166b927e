-- What each turn of a run was given, so that it can be decided again (replay); and by which version.
CREATE TABLE cores (id INTEGER PRIMARY KEY, version TEXT NOT NULL UNIQUE);
CREATE TABLE journal (
    run TEXT NOT NULL, turn INTEGER NOT NULL, core INTEGER NOT NULL, at REAL NOT NULL,
    sealed INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run, turn)
) WITHOUT ROWID;
