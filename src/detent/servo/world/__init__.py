"""The world in a tick: MuJoCo's kinematics and inertia, joint damping, loops, and the next state.

Here belongs whatever is about degrees of freedom and not about contacts or the hand: `sense` and
`move` are the two ends of a tick, `scene` and `closures` make their arrays from a model at load.
"""
