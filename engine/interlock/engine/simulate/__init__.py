"""The engine in a simulated world: the same core and the real store, under a clock, ids, workers and
faults that a seed decides.  For tests and campaigns; nothing else imports it."""
