-- A worker that runs only some blocks finds its work without reading the others'.
CREATE INDEX tasks_ready_by_block ON tasks (block, ready_at) WHERE worker IS NULL;
