"""The pure core: what a run, a resource key and an admission queue decide, each by itself.

Nothing here does I/O, reads a clock or draws a random number.  A cell is a state and a function
``(state, event, now) → changes``; cells speak to each other only by messages, which the kernel stores in
the same transaction as the change that posted them.
"""
