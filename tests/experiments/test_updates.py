"""The sweep over the engine's pace, in short."""

from __future__ import annotations

from detent.experiments import find


def test_no_update_makes_a_step_or_brings_energy() -> None:
    result = find("update-sweep")(runs=16)
    assert [claim.id for claim in result.claims if not claim.passed] == []
    assert result.metrics["peg.updates"] > 50 and result.metrics["linkage.step"] > 0.1
