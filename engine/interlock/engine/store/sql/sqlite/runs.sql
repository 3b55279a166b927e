-- name: mark
SAVEPOINT turn;
-- name: keep
RELEASE turn;
-- name: undo
ROLLBACK TO turn;
-- name: meta
SELECT store_time, next_claim FROM meta;
-- name: set_meta
UPDATE meta SET store_time = ?, next_claim = ?;
-- name: add_definition
INSERT INTO definitions (hash, name, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;
-- name: definition
SELECT body FROM definitions WHERE hash = ?;
-- name: add_closure
INSERT INTO closures (hash, members) VALUES (?, ?) ON CONFLICT DO NOTHING;
-- name: closure
SELECT members FROM closures WHERE hash = ?;
-- name: dispatch_key
SELECT run FROM dispatch_keys WHERE account = ? AND key = ?;
-- name: add_dispatch_key
INSERT INTO dispatch_keys (account, key, run) VALUES (?, ?, ?);
-- name: add_run
INSERT INTO runs
    (id, account, workflow, status, dispatched_at, deadline, starter, version, head, inputs, sealed, known)
VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?);
-- name: run_version
SELECT version FROM runs WHERE id = ?;
-- name: run
SELECT version, head, inputs, sealed, known FROM runs WHERE id = ?;
-- name: run_peek
SELECT account, workflow, status FROM runs WHERE id = ?;
-- name: set_head
UPDATE runs SET version = ?, head = ? WHERE id = ?;
-- name: set_status
UPDATE runs SET version = ?, head = ?, status = ?, ended_at = ?, code = ? WHERE id = ?;
-- name: set_known
UPDATE runs SET known = ? WHERE id = ?;
-- name: frames
SELECT prefix, sealed, body FROM frames WHERE run = ?;
-- name: set_frame
INSERT INTO frames (run, prefix, sealed, body) VALUES (?, ?, ?, ?)
ON CONFLICT (run, prefix) DO UPDATE SET sealed = excluded.sealed, body = excluded.body;
-- name: vals
SELECT scope, name, sealed, body FROM vals WHERE run = ? ORDER BY rank, name;
-- name: vals_of
SELECT name, sealed, body FROM vals WHERE run = ? AND scope = ? ORDER BY rank, name;
-- name: set_val
INSERT INTO vals (run, scope, name, visit, rank, sealed, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run, scope, name) DO UPDATE SET
    visit = excluded.visit, sealed = excluded.sealed, body = excluded.body;
-- name: drop_vals
DELETE FROM vals WHERE run = ?1 AND scope = ?2;
-- name: drop_vals_below
DELETE FROM vals WHERE run = ?1 AND scope > ?2 || '/' AND scope < ?2 || '0';
-- name: comps
SELECT sealed, body FROM comps WHERE run = ? ORDER BY seq;
-- name: set_comp
INSERT INTO comps (run, seq, sealed, body) VALUES (?, ?, ?, ?)
ON CONFLICT (run, seq) DO UPDATE SET sealed = excluded.sealed, body = excluded.body;
-- name: drop_comp
DELETE FROM comps WHERE run = ? AND seq = ?;
-- name: open_signals
SELECT sealed, body FROM signals WHERE run = ? AND consumed = 0 ORDER BY seq;
-- name: signal_known
SELECT sealed, body FROM signals WHERE run = ? AND id = ?;
-- name: add_signal
INSERT INTO signals (run, seq, id, consumed, sealed, body) VALUES (?, ?, ?, 0, ?, ?);
-- name: consume_signal
UPDATE signals SET consumed = 1 WHERE run = ? AND seq = ?;
-- name: add_event
INSERT INTO events (run, at, kind, path, visit, data) VALUES (?, ?, ?, ?, ?, ?);
-- name: events_of_run
SELECT seq, run, at, kind, path, visit, data FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?;
-- name: events_all
SELECT seq, run, at, kind, path, visit, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?;
-- name: children
SELECT id FROM runs WHERE starter = ? ORDER BY num;
-- name: run_num
SELECT num FROM runs WHERE id = ?;
-- name: runs_by_age
SELECT id, account, workflow, status, dispatched_at, ended_at, code FROM runs
WHERE num < ?1 AND (?2 IS NULL OR account = ?2) ORDER BY num DESC LIMIT ?3;
-- name: runs_by_status
SELECT id, account, workflow, status, dispatched_at, ended_at, code FROM runs INDEXED BY runs_by_status
WHERE status = ?4 AND num < ?1 AND (?2 IS NULL OR account = ?2) AND (?3 IS NULL OR workflow = ?3)
ORDER BY num DESC LIMIT ?5;
-- name: runs_by_workflow
SELECT id, account, workflow, status, dispatched_at, ended_at, code FROM runs INDEXED BY runs_by_workflow
WHERE account = ?2 AND workflow = ?3 AND num < ?1 ORDER BY num DESC LIMIT ?4;
-- name: runs_by_name
SELECT id, account, workflow, status, dispatched_at, ended_at, code FROM runs INDEXED BY runs_by_name
WHERE workflow = ?2 AND num < ?1 ORDER BY num DESC LIMIT ?3;
-- name: count_runs
SELECT status, count(*) FROM runs GROUP BY status;
-- name: old_runs
SELECT id FROM runs WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at LIMIT ?;
-- name: drop_closures
DELETE FROM closures WHERE hash NOT IN (SELECT json_extract(CAST(head AS TEXT), '$.closure_hash') FROM runs);
-- name: drop_definitions
DELETE FROM definitions WHERE hash NOT IN (SELECT json_extract(CAST(head AS TEXT), '$.hash') FROM runs)
    AND hash NOT IN (SELECT m.value FROM closures c, json_each(c.members) m);
-- name: drop_run
DELETE FROM runs WHERE id = ?;
-- name: drop_run_frames
DELETE FROM frames WHERE run = ?;
-- name: drop_run_vals
DELETE FROM vals WHERE run = ?;
-- name: drop_run_comps
DELETE FROM comps WHERE run = ?;
-- name: drop_run_signals
DELETE FROM signals WHERE run = ?;
-- name: core
SELECT id FROM cores WHERE version = ?;
-- name: add_core
INSERT INTO cores (version) VALUES (?) ON CONFLICT DO NOTHING;
-- name: add_entry
INSERT INTO journal (run, turn, core, at, sealed, body) VALUES (?, ?, ?, ?, ?, ?);
-- name: journal
SELECT j.turn, c.version, j.at, j.sealed, j.body FROM journal j JOIN cores c ON c.id = j.core
WHERE j.run = ? ORDER BY j.turn;
-- name: drop_run_journal
DELETE FROM journal WHERE run = ?;
-- name: drop_run_events
DELETE FROM events WHERE run = ?;
