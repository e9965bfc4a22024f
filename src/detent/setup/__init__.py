"""From the parts of a session to a servo that is ready to run.

Here everything is decided once, before the first tick: what fits together, how gains are bounded by
the step, which arrays there are, which stages are compiled. A `Subject` is what a session drives: a
world or a mechanism.
"""
