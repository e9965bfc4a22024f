"""Which tests belong to which sources, and what is to be said about single breaks.

Without the compiler a tick takes milliseconds, so of long tests only those belong here that find
what no short one does.
"""

from __future__ import annotations

KERNELS, SERVO = "tests/kernels/test_", "tests/servo/test_"
CONTACT = SERVO + "contact_response.py::"

#: not broken at all, and why
LEFT_OUT = {
    "servo/loop/baseline.py": "a loop that does nothing, for the bench",
    "servo/loop/clock.py": "the wall clock: tests of it need the machine to themselves",
    "servo/loop/exchange.py": "atomic exchanges, which only compiled code has",
    "servo/loop/live.py": "threads and the wall clock",
    "servo/loop/loop.py": "the wall clock; what lockstep does wrong fails every test",
}

#: Breaks that once survived: file, what stands there, what stands there instead.
KNOWN = (
    (
        "devices/simulated.py",
        "slow_down(st.true_twist[3:6], m.mobility[5, 5], m.friction[1], step)",
        "slow_down(st.true_twist[3:6], m.mobility[5, 5], m.friction[0], step)",
    ),
    ("devices/simulated.py", "most = m.friction[block] *", "most = m.friction[0] *"),
    (
        "devices/simulated_display.py",
        "slow_down(twist[3:6], di.mobility[5, 5], di.friction[1], step)",
        "slow_down(twist[3:6], di.mobility[5, 5], di.friction[0], step)",
    ),
    (
        "servo/contact/rows.py",
        "rows.damping[r] = 2.0 * omega * mass",
        "rows.damping[r] = 0.2 * omega * mass",
    ),
    ("kernels/constants.py", "CREEP = 1e-4", "CREEP = 0.0"),
    ("servo/constants.py", "REACTIVATIONS = 3", "REACTIVATIONS = 0"),
)

#: The tests of a source, if the name of neither tells.
TESTS: dict[str, tuple[str, ...]] = {
    "kernels/advance.py": (KERNELS + "mechanics.py",),
    "kernels/constants.py": (
        *(KERNELS + name for name in ("contact.py", "step_friction.py", "friction.py")),
        CONTACT + "test_a_contact_that_creeps_does_not_collide",
    ),
    "kernels/constrained.py": (KERNELS + "mechanics.py",),
    "kernels/ringing.py": (KERNELS + "shaping.py",),
    "kernels/stops.py": (KERNELS + "mechanics.py",),
    "kernels/vectors.py": (KERNELS + "contact.py", KERNELS + "se3.py"),
}

#: seconds in plain Python, and not needed
SLOW: tuple[str, ...] = ()

#: why nobody notices
EXPLAINED: dict[str, str] = {}


def tests_of(file: str) -> tuple[str, ...]:
    """The tests that belong to a source below the package."""
    if file in TESTS:
        return TESTS[file]
    folder, name = file.rsplit("/", 1)
    return (f"tests/{folder}/test_{name}",)
