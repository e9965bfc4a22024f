"""Numbers of constraints that come and go, each with its unit and reason."""

from __future__ import annotations

import numpy as np

CALM = 12.0  # [1/s] a stretched arm swings at 5 to 10 rad/s: that is about critical
TENSE, TWISTED = 0.02, 0.2  # [m, rad] between device and link, where all of it acts
SLACK_LEFT = 0.25  # [-] of the ease: slack goes in four times the time in which a constraint comes
# [-] Loops leave a link what they please. Where constraints come and go slowly, that is judged by
# the mobility with its loops cut; else, as in the documents, by what is left, down to this part.
LOCKED = 1e-4
DEEP_HIT = 1e-3  # [m] what strikes so fast that it is deeper within a tick stays for a moment
FAR_TURNED = 0.5 * np.pi  # [rad] between device and link
