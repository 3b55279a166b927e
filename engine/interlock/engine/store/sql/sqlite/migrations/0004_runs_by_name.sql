-- The runs of a workflow, whatever their account.
CREATE INDEX runs_by_name ON runs (workflow, num);
