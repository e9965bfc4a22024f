"""The way between tool and device: the hand point, the coupling, the device's limits.

`approach` is what hand and coupling do to the tool, `reach` maps torques back to the hand, `limit`,
`ring`, `shape`, `lead` and `command` make the wrench of which `servo.guard` is the last judge.
"""
