"""Which tests belong to which sources, and what is to be said about single breaks.

Without the compiler a tick takes milliseconds, so of long tests only those belong here that find
what no short one does.
"""

from __future__ import annotations

#: not broken at all, and why
LEFT_OUT = {
    "servo/loop/baseline.py": "a loop that does nothing, for the bench",
    "servo/loop/clock.py": "the wall clock: tests of it need the machine to themselves",
    "servo/loop/exchange.py": "whether an exchange is atomic shows only between threads",
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


def tests(file: str, *names: str) -> tuple[str, ...]:
    """Tests of a file, or all that are in it."""
    path = f"tests/{file}.py"
    return tuple(f"{path}::test_{name}" for name in names) or (path,)


MECHANICS = tests("kernels/test_mechanics")
HAND = (*tests("servo/test_hand_stages"), *tests("servo/test_hand_edges"))
LOCAL = (*tests("servo/test_local_rows"), *tests("servo/test_local_stages"))
BALLS = tests(
    "servo/test_contact_response",
    "two_equal_balls_share_the_momentum",
    "overtaking_is_galilean",
    "split_rows_are_the_documents_to_the_letter",
    "split_rows_with_impulses_that_only_push",
    "split_rows_whichever_geom_comes_first",
    "the_hand_feels_the_impulse_of_one_step",
    "only_the_tools_contacts_reach_the_hand",
    "a_new_contact_that_separates_rests_without_impulse",
    "a_colliding_group_gets_impulses_instead_of_penalties",
    "a_second_contact_re_activates_the_first",
    "the_deepest_contacts_are_kept_beside_the_tools",
    "copies_in_z_are_counted_once",
    "no_contact_is_left_out_by_the_number_of_its_geom",
    "a_receding_contact_joins_if_the_collision_turns_it_around",
    "a_contact_that_creeps_does_not_collide",
    "gains_of_a_contact_are_what_the_step_can_hold",
    "contacts_that_recede_are_no_part_of_a_collision",
    "a_face_shares_its_damping_as_it_does_its_stiffness",
)
HITS = tests("servo/test_sliding_hits")
LIMITS = tests(
    "servo/test_dynamics", "a_reached_joint_limit_is_a_row", "a_joint_limit_is_critically_damped"
)
ROWS = tests(
    "servo/test_dynamics",
    "contact_rows_are_those_of_the_python_api",
    "contact_rows_are_finite_differences",
)
STATES = tests(
    "servo/test_dynamics",
    "inertia_and_its_factor",
    "bias_and_passive_torques",
    "hand_jacobian_is_finite_differences",
    "energy_of_the_row_is_half_v_d_v",
    "joint_damping_is_implicit",
    "a_frozen_inertia_is_kept_until_the_next_refresh",
    "ticks_in_which_hinges_were_too_fast_are_counted_once",
    "an_off_centre_push_turns_the_peg_by_r_cross_f",
)
SHAPED = tests("servo/test_linkages", "the_device_accelerates_as_the_thesis_says")
TOPOLOGY = tests(
    "servo/test_linkages",
    "the_penalty_is_that_of_the_errata",
    "the_reaction_is_that_of_the_jacobians_where_the_device_is",
    "constraints_are_counted",
    "the_device_has_the_linkages_inertia_where_it_moves_and_a_sane_one_elsewhere",
)
REACH = tests(
    "servo/test_linkages",
    "a_wrench_at_the_held_link_comes_back_as_that_wrench",
    "a_door_maps_its_torque_to_force_times_lever",
)
LOOPS = tests(
    "servo/test_loops",
    "baumgartes_terms_are_those_of_the_errata",
    "a_step_is_that_of_the_full_system",
    "open_closures_are_measured_as_mujoco_does",
    "a_loop_that_strikes_a_post_obeys_newton",
)
WEIGHT = tests(
    "servo/test_weight",
    "an_off_centre_grip_feels_the_torque_of_the_weight",
    "the_weight_of_a_linkage_is_mujocos",
)
SEAMS = tests(
    "servo/test_seams",
    "the_vertex_of_a_corner_of_abutting_boxes_keeps_all_its_walls",
    "a_corner_keeps_both_its_walls",
    "a_seam_is_one_whichever_geom_comes_first",
    "a_seam_with_a_hair_between_is_not_felt_either",
)
PASSIVITY = tests(
    "servo/test_passivity",
    "torques_count_by_the_vector_of_the_turn",
    "a_session_above_the_passive_limit_says_so",
    "it_counts_at_the_rate_of_a_slow_device",
    "the_engine_port_has_what_contacts_took_from_the_tool",
    "a_wrench_is_taken_back_at_most_whole",
)
DRY = tests(
    "world/test_acting",
    "dry_friction_is_an_elastoplastic_bond",
    "dry_friction_of_a_tendon_slows_both_ends_by_its_force",
)
SLEEP = tests(
    "servo/test_sleep",
    "a_change_wakes_in_the_same_tick",
    "sleep_can_be_left_out",
    "the_tool_and_what_has_a_motor_never_sleep",
    "what_sleeps_is_not_looked_at",
    "only_contacts_of_what_fell_asleep_are_kept",
)
FREE = tests("servo/test_free_motion")
STEPS = tests("servo/test_rigid_steps")
MEMORY = tests("world/test_detection", "a_tick_recalls_and_remembers")
RUBBING = tests("servo/test_rubbing")
BODIES = tests("servo/test_many_bodies")
FAULTS = tests("servo/test_force_path", "a_fault_comes_within_one_tick_and_stays")

#: The tests of a source, if the name of neither tells: the fastest that have a chance.
TESTS: dict[str, tuple[str, ...]] = {
    "devices/simulated_display.py": tests("devices/test_simulated_display"),
    "devices/simulated_pantograph.py": tests("devices/test_pantograph"),
    "kernels/pantograph.py": tests("devices/test_pantograph"),
    "kernels/advance.py": MECHANICS,
    "kernels/constants.py": (
        *tests("kernels/test_contact"),
        *tests("kernels/test_step_friction"),
        *tests("kernels/test_loops"),
        *tests("kernels/test_shaping", "rings_superpose"),
        *BALLS,
    ),
    "kernels/constrained.py": MECHANICS,
    "kernels/inertia.py": (*tests("kernels/test_inertia"), *tests("kernels/test_loops")),
    "kernels/passivity.py": (*tests("kernels/test_passivity"), *PASSIVITY),
    "kernels/limits.py": (*tests("kernels/test_limits"), *tests("servo/test_guard")),
    "kernels/rank.py": tests("kernels/test_mapping"),
    "kernels/ringing.py": tests("kernels/test_shaping"),
    "kernels/sliding.py": (
        *tests("kernels/test_impact_friction"),
        *tests("kernels/test_step_friction"),
    ),
    "kernels/stops.py": MECHANICS,
    "kernels/topology.py": (*tests("kernels/test_mapping"), *TOPOLOGY),
    "servo/constants.py": (*BALLS, *TOPOLOGY, *SEAMS, *STEPS),
    "servo/contact/brake.py": tests("servo/test_brake"),
    "servo/contact/columns.py": (*BALLS, *ROWS, *BODIES),
    "servo/contact/feel.py": tests("shapes/test_felt_world"),
    "servo/contact/gains.py": (*BALLS, *BODIES),
    "servo/contact/groups.py": (*BALLS, *STEPS),
    "servo/contact/identity.py": (*tests("world/test_detection"), *RUBBING),
    "servo/contact/impulses.py": (*BALLS, *HITS),
    "servo/contact/joint_limits.py": (*tests("servo/test_limit_rows"), *LIMITS),
    "servo/contact/plastic.py": tests("servo/test_limited_walls"),
    "servo/contact/press.py": (*tests("servo/test_press"), *BALLS, *HAND),
    "servo/contact/react.py": (*BALLS, *MEMORY),
    "servo/contact/rigid.py": STEPS,
    "servo/contact/rows.py": (*LIMITS, *BALLS, *ROWS, *BODIES),
    "servo/contact/rub.py": RUBBING,
    "servo/contact/seams.py": SEAMS,
    "servo/contact/torques.py": RUBBING,
    "servo/contact/turn.py": tests("servo/test_turning"),
    "servo/contact/walls_back.py": tests("servo/test_limited_walls"),
    "servo/guard.py": (
        *tests("servo/test_force_path_law"),
        *tests("servo/test_guard"),
        *HAND,
        *FAULTS,
        *tests("servo/test_watch"),
    ),
    "servo/hand/approach.py": (*HAND, *SHAPED),
    "servo/hand/command.py": HAND,
    "servo/hand/constants.py": (*TOPOLOGY, *tests("servo/test_limited_walls")),
    "servo/hand/coordinate.py": HAND,
    "servo/hand/fade.py": tests("servo/test_start"),
    "servo/hand/follow.py": HAND,
    "servo/hand/lead.py": HAND,
    "servo/hand/limit.py": HAND,
    "servo/hand/model.py": HAND,
    "servo/hand/point.py": (*STATES, *SHAPED),
    "servo/hand/reach.py": (*REACH, *HAND, *WEIGHT),
    "servo/hand/ring.py": (
        *HAND,
        *tests("servo/test_resonate", "switched_off_it_falls_silent_at_once"),
    ),
    "servo/hand/shape.py": SHAPED,
    "servo/hand/topology.py": (
        *TOPOLOGY,
        *tests("servo/test_hand_edges", "a_constraint_is_tied_until_it_has_gone"),
    ),
    "servo/local/coherence.py": (*LOCAL, *tests("local/test_proxy")),
    "servo/local/merge.py": (*LOCAL, *tests("local/test_proxy")),
    "servo/local/report.py": LOCAL,
    "servo/local/sense.py": LOCAL,
    "servo/local/separation.py": (*LOCAL, *tests("local/test_proxy")),
    "servo/local/smooth.py": LOCAL,
    "servo/mechanism.py": MECHANICS,
    "servo/passivity.py": PASSIVITY,
    "servo/port.py": HAND,
    "servo/record.py": (*LOCAL, *MECHANICS, *STATES, *HAND),
    "servo/shown.py": (
        *tests("servo/test_shown_rows"),
        *tests("servo/test_shown", "what_joints_forbid_is_shown_at_the_hand"),
    ),
    "servo/tick.py": (*HAND, *MECHANICS, *LOCAL),
    "servo/watch.py": tests("servo/test_watch"),
    "servo/world/axes.py": (*ROWS, *RUBBING),
    "servo/world/close.py": (*tests("servo/test_gears"), *LOOPS, *FREE),
    "servo/world/dry.py": DRY,
    "servo/world/loop_energy.py": FREE,
    "servo/world/move.py": (*HAND, *STATES, *LOOPS, *FREE),
    "servo/world/sense.py": (*STATES, *ROWS, *MEMORY),
    "servo/world/sleep.py": SLEEP,
    "servo/world/spin.py": FREE,
    "servo/world/weight.py": WEIGHT,
}

#: Why nobody notices, one by one: see `Mutant.key`. They count as survivors all the same.
EXPLAINED = {
    "servo/contact/joint_limits.py: rows.stiffness[r], rows.damping[r] = -1.0, -1.0"
    " # from the inertia, see respond: 1.0 -> 2.0":
        "Equivalent: any negative number says that `respond` has yet to find the gains.",
    "servo/guard.py: gd, scale = de.guard, 1.0: 1.0 -> 2.0":
        "Equivalent: `uniform_scale`, which is 1 at most, has the last word.",
    "servo/guard.py: if not has_limits(p) and de.guard.engaged[0] * ramp >= 1.0: 1.0 -> 2.0":
        "Equivalent: the longer way leads to the same wrench once the ramp is over.",
    "servo/watch.py: worst = 0.0: 0.0 -> 1.0":
        "Equivalent: it is compared with a whole number of at least 1.",
    "kernels/linalg.py: threshold = 0.0: 0.0 -> 1.0":
        "Equivalent: the first of the pivots sets it.",
    "kernels/projection.py: worst, found = -tolerance, -1: 1 -> 2":
        "Equivalent: any negative number says that none is violated.",
    "kernels/impact_friction.py: low, inside, high, outside, last = 0.0, mu * n, sticking, 0.0, 0:"
    " 0 -> 1":
        "Equivalent: which end of the interval moved last only weighs the first step of false"
        " position, which goes on until it is on the cone.",
    "kernels/constrained.py: most = 0.0: 0.0 -> 1.0":
        "Equivalent: at least one more correction is made of a state that needs none.",
    "servo/constants.py: VIEW_HZ = 120.0 # [Hz] at which the servo shows itself: twice what a page"
    " draws: 120.0 -> 0.0":
        "Of the live loop, whose tests need the clock: it divides by zero there, at the start.",
    "servo/contact/brake.py: a, b = tangent(rows.normal[r], 0), tangent(rows.normal[r], 1): 1 -> 2":
        "Equivalent: any number but 0 asks for the second tangent.",
    "kernels/rank.py: bound = 2.0 * least / (1.0 + least * least): 1.0 + least * least"
    " -> (1.0 - (least * least))":
        "Equivalent: a stricter bound sends more hands to the spectrum, which says the same.",
    "servo/contact/columns.py: span[r, 0, 0], span[r, 0, 1], span[r, 1, 0], span[r, 1, 1]"
    " = 0, 0, 0, 0: 0 -> 1":
        "Equivalent: where a span of no columns begins is never asked.",
    "servo/contact/gains.py: rows.gain[r, 1] = kappa if stiff else 0.0: 0.0 -> 1.0":
        "Equivalent up to 1e5 kg: 1/m_eff times T² is far from what a step can hold.",
    "servo/contact/impulses.py: rows.joined[r] = 1: 1 -> 2":
        "Equivalent: any number but 0 says that it joined.",
    "servo/contact/rub.py: travel, share, last, m = 0.0, 0.0, -1.0, MEMORY_FRICTION: 0.0 -> 1.0":
        "Equivalent: the first contact of a group sets them, since no coefficient is negative.",
    "servo/contact/torques.py: mx, my, mz, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0: 0.0 -> 1.0":
        "Equivalent: the first body clears the sums.",
    "servo/local/merge.py: lo.counts[SERIALS] += 1: 1 -> 2":
        "Equivalent: it only says where the search for an empty column begins.",
    "servo/contact/rub.py: others += 1: 1 -> 2":
        "Equivalent while there is room: every other row is skipped, and presses with nothing.",
}  # fmt: skip


def belonging_to(file: str) -> tuple[str, ...]:
    """The tests that belong to a source below the package."""
    if file in TESTS:
        return TESTS[file]
    folder, name = file.rsplit("/", 1)
    return (f"tests/{folder}/test_{name}",)
