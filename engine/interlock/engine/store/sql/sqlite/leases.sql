-- name: key
SELECT lim, next_ticket, next_fence FROM keys WHERE account = ? AND key = ?;
-- name: set_key
INSERT INTO keys (account, key, lim, next_ticket, next_fence) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (account, key) DO UPDATE SET
    lim = excluded.lim, next_ticket = excluded.next_ticket, next_fence = excluded.next_fence;
-- name: holders
SELECT run, fence, since, review FROM holders WHERE account = ? AND key = ? ORDER BY fence;
-- name: set_holder
INSERT INTO holders (account, key, run, fence, since, review) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (account, key, run) DO UPDATE SET fence = excluded.fence, review = excluded.review;
-- name: drop_holder
DELETE FROM holders WHERE account = ? AND key = ? AND run = ?;
-- name: holds
SELECT run, path, lifetime FROM holds WHERE account = ? AND key = ?;
-- name: set_hold
INSERT INTO holds (account, key, run, path, lifetime) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (account, key, run, path) DO UPDATE SET lifetime = excluded.lifetime;
-- name: drop_hold
DELETE FROM holds WHERE account = ? AND key = ? AND run = ? AND path = ?;
-- name: add_ticket
INSERT INTO tickets (account, key, number, run, path, visit, lifetime, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?);
-- name: drop_ticket
DELETE FROM tickets WHERE account = ? AND key = ? AND number = ?;
-- name: first_ticket
SELECT number, run, path, visit, lifetime, since FROM tickets
WHERE account = ? AND key = ? AND number > ? ORDER BY number LIMIT 1;
-- name: tickets_of
SELECT number, run, path, visit, lifetime, since FROM tickets
WHERE run = ? AND key = ? AND account = ? ORDER BY number;
-- name: tickets
SELECT number, run, path, visit, lifetime, since FROM tickets WHERE account = ? AND key = ? ORDER BY number;
-- name: tickets_of_run
SELECT key, path, number, since FROM tickets WHERE run = ? ORDER BY key, number;
-- name: tickets_before
SELECT count(DISTINCT run) FROM tickets WHERE account = ? AND key = ? AND number < ?;
-- name: keys_of_account
SELECT DISTINCT key FROM (SELECT key FROM holders WHERE account = ?1 UNION SELECT key FROM tickets WHERE account = ?1)
ORDER BY key;
-- name: awaited
SELECT EXISTS (SELECT 1 FROM deps WHERE on_run = ?1)
    OR EXISTS (
        SELECT 1 FROM holders h CROSS JOIN tickets t ON t.account = h.account AND t.key = h.key AND t.run <> ?1
        WHERE h.run = ?1)
    OR EXISTS (
        SELECT 1 FROM tickets m CROSS JOIN tickets t
            ON t.account = m.account AND t.key = m.key AND t.number > m.number AND t.run <> ?1
        WHERE m.run = ?1)
    OR EXISTS (
        SELECT 1 FROM runs r CROSS JOIN waiting w ON w.account = r.account AND w.workflow = r.workflow
        WHERE r.id = ?1);
-- name: queue
SELECT next_position FROM queues WHERE account = ? AND workflow = ?;
-- name: set_queue
INSERT INTO queues (account, workflow, next_position) VALUES (?, ?, ?)
ON CONFLICT (account, workflow) DO UPDATE SET next_position = excluded.next_position;
-- name: count_slots
SELECT count(*) FROM slots WHERE account = ? AND workflow = ?;
-- name: slots
SELECT run FROM slots WHERE account = ? AND workflow = ? ORDER BY run;
-- name: slots_with
SELECT run FROM slots WHERE account = ? AND workflow = ? AND skey = ?;
-- name: has_slot
SELECT 1 FROM slots WHERE account = ? AND workflow = ? AND run = ?;
-- name: add_slot
INSERT INTO slots (account, workflow, run, skey) VALUES (?, ?, ?, ?);
-- name: drop_slot
DELETE FROM slots WHERE account = ? AND workflow = ? AND run = ?;
-- name: first_waiting
SELECT position, run, lim, skey FROM waiting
WHERE account = ? AND workflow = ? AND position > ? ORDER BY position LIMIT 1;
-- name: waiting_with
SELECT position, run, lim, skey FROM waiting WHERE account = ? AND workflow = ? AND skey = ? LIMIT 1;
-- name: waiting_place
SELECT position, run, lim, skey FROM waiting WHERE run = ? AND account = ? AND workflow = ?;
-- name: waiting_before
SELECT run FROM waiting WHERE account = ? AND workflow = ? AND position < ? ORDER BY position;
-- name: count_waiting_before
SELECT count(*) FROM waiting WHERE account = ? AND workflow = ? AND position < ?;
-- name: waiting
SELECT run FROM waiting WHERE account = ? AND workflow = ? ORDER BY position;
-- name: add_waiting
INSERT INTO waiting (account, workflow, position, run, lim, skey) VALUES (?, ?, ?, ?, ?, ?);
-- name: drop_waiting
DELETE FROM waiting WHERE account = ? AND workflow = ? AND position = ?;
-- name: queues_of_account
SELECT workflow FROM queues WHERE account = ? ORDER BY workflow;
