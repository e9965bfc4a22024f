"""Contacts in a tick: which rows there are, what they remember, and what they do to the bodies.

`rows` and `joint_limits` find them, `identity` knows them again, `groups` says who is colliding;
`press`, `impulses`, `rigid` and `rub` make forces of them, and `react` is the step.
"""
