"""Questions about a text that is being written: what stands here, what may stand here, where else is it.

Everything is asked with offsets and answered with offsets and words; how an editor shows the answers is
left to others.  Nothing here judges: that is the rules' part.
"""
