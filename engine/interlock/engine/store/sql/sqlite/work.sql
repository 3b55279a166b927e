-- name: set_task
INSERT INTO tasks (id, run, path, visit, kind, block, ready_at, worker, claim, sealed, body)
VALUES (?, ?, ?, ?, ?, ?, ?, NULL, 0, ?, ?)
ON CONFLICT (id) DO UPDATE SET ready_at = excluded.ready_at, worker = NULL, claim = 0,
    block = excluded.block, sealed = excluded.sealed, body = excluded.body;
-- name: drop_task
DELETE FROM tasks WHERE id = ?;
-- name: task_claim
SELECT worker, claim, run, path, visit, kind FROM tasks WHERE id = ?;
-- name: task_claimed
SELECT 1 FROM tasks WHERE id = ? AND worker IS NOT NULL;
-- name: last_handed_back
SELECT data FROM events WHERE run = ? AND path = ? AND visit = ? AND kind = 'task.handed_back' ORDER BY seq DESC LIMIT 1;
-- name: ready_tasks
SELECT t.id, t.run, t.path, t.visit, t.kind, t.block, t.sealed, t.body, r.account, r.workflow, r.known, r.deadline
FROM tasks t JOIN runs r ON r.id = t.run
WHERE t.worker IS NULL AND t.ready_at <= ? ORDER BY t.ready_at LIMIT ?;
-- name: ready_tasks_of
SELECT t.id, t.run, t.path, t.visit, t.kind, t.block, t.sealed, t.body, r.account, r.workflow, r.known, r.deadline
FROM json_each(?3) b CROSS JOIN tasks t JOIN runs r ON r.id = t.run
WHERE t.block = b.value AND t.worker IS NULL AND t.ready_at <= ?1 ORDER BY t.ready_at LIMIT ?2;
-- name: ready_tasks_in
-- A run, what it started at any depth, and what these wait for.
WITH RECURSIVE tree(id) AS (
    SELECT ?4
    UNION SELECT r.id FROM tree CROSS JOIN runs r ON r.starter = tree.id
    UNION SELECT d.on_run FROM tree CROSS JOIN deps d ON d.run = tree.id
)
SELECT t.id, t.run, t.path, t.visit, t.kind, t.block, t.sealed, t.body, r.account, r.workflow, r.known, r.deadline
FROM tree CROSS JOIN tasks t ON t.run = tree.id JOIN runs r ON r.id = t.run
WHERE t.worker IS NULL AND t.ready_at <= ?1 AND (?3 IS NULL OR t.block IN (SELECT value FROM json_each(?3)))
ORDER BY t.ready_at LIMIT ?2;
-- name: claim_task
UPDATE tasks SET worker = ?, claim = ? WHERE id = ?;
-- name: unclaim_task
UPDATE tasks SET worker = NULL, claim = 0, ready_at = ? WHERE id = ?;
-- name: tasks_of_worker
SELECT id, run, path, visit, kind FROM tasks WHERE worker = ? ORDER BY claim;
-- name: next_ready
SELECT min(ready_at) FROM tasks WHERE worker IS NULL;
-- name: next_ready_without
SELECT ready_at FROM tasks WHERE worker IS NULL AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY ready_at LIMIT 1;
-- name: next_ready_in
WITH RECURSIVE tree(id) AS (
    SELECT ?1
    UNION SELECT r.id FROM tree CROSS JOIN runs r ON r.starter = tree.id
    UNION SELECT d.on_run FROM tree CROSS JOIN deps d ON d.run = tree.id
)
SELECT min(t.ready_at) FROM tree CROSS JOIN tasks t ON t.run = tree.id WHERE t.worker IS NULL;
-- name: drop_run_tasks
DELETE FROM tasks WHERE run = ?;
-- name: know_worker
INSERT INTO workers (id, beat) VALUES (?, 0) ON CONFLICT DO NOTHING;
-- name: beat
INSERT INTO workers (id, beat) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET beat = beat + 1;
-- name: workers
SELECT id, beat FROM workers;
-- name: drop_worker
DELETE FROM workers WHERE id = ?;
-- name: set_timer
INSERT INTO timers (run, kind, path, visit, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run, kind, path) DO UPDATE SET visit = excluded.visit, at = excluded.at;
-- name: drop_timer
DELETE FROM timers WHERE run = ? AND kind = ? AND path = ?;
-- name: drop_run_timers
DELETE FROM timers WHERE run = ?;
-- name: timers_of_run
SELECT kind, path, at FROM timers WHERE run = ?;
-- name: due_timers
SELECT run, kind, path, visit FROM timers WHERE at <= ? ORDER BY at LIMIT ?;
-- name: next_timer
SELECT min(at) FROM timers;
-- name: set_wait
INSERT INTO waits (run, path, visit, kind, need) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run, path) DO UPDATE SET visit = excluded.visit, kind = excluded.kind, need = excluded.need;
-- name: drop_wait
DELETE FROM waits WHERE run = ? AND path = ?;
-- name: drop_deps
DELETE FROM deps WHERE run = ? AND path = ?;
-- name: add_dep
INSERT INTO deps (run, path, on_run, visit) VALUES (?, ?, ?, ?)
ON CONFLICT (run, path, on_run) DO UPDATE SET visit = excluded.visit;
-- name: drop_dep
DELETE FROM deps WHERE run = ? AND path = ? AND on_run = ? AND visit = ?;
-- name: dependents
SELECT run, path, visit FROM deps WHERE on_run = ?;
-- name: drop_run_waits
DELETE FROM waits WHERE run = ?;
-- name: drop_run_deps
DELETE FROM deps WHERE run = ?;
-- name: waits_of
SELECT path, need FROM waits WHERE run = ?;
-- name: deps_of
SELECT on_run FROM deps WHERE run = ? AND path = ?;
-- name: has_dependents
SELECT 1 FROM deps WHERE on_run = ? LIMIT 1;
-- name: post
INSERT INTO inbox (body) VALUES (?);
-- name: inbox
SELECT seq, body FROM inbox ORDER BY seq LIMIT ?;
-- name: worked
DELETE FROM inbox WHERE seq <= ?;
-- name: counts
SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM tasks WHERE worker IS NOT NULL),
    (SELECT count(*) FROM timers), (SELECT count(*) FROM holders), (SELECT count(*) FROM tickets),
    (SELECT count(*) FROM inbox), (SELECT count(*) FROM workers);
