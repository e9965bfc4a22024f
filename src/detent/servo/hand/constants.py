"""Numbers of constraints that come and go, each with its unit and reason."""

from __future__ import annotations

CALM = 12.0  # [1/s] a stretched arm swings at 5 to 10 rad/s: that is about critical
TENSE, TWISTED = 0.02, 0.2  # [m, rad] between device and link, where all of it acts
SLACK_LEFT = 0.25  # [-] of the ease: slack goes in four times the time in which a constraint comes
