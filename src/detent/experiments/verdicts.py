"""What was found of each claim: the verdicts on record, where they are not plainly *confirmed*."""

from __future__ import annotations

CONFIRMED = "confirmed"
REFUTED = "refuted"
CORRECTED = "confirmed after correction"

#: by claim: what was found, and why it is not as the document says
RECORDED: dict[str, tuple[str, str]] = {
    "X6.compliance-nahvi": (REFUTED, "counts of the encoders shake the bond as much as the law"),
    "X6.compliance-dahl": (REFUTED, "counts of the encoders shake the bond as much as the law"),
    "X6.rest": (REFUTED, "it does than Nahvi's, not than Dahl's, under counts of the encoders"),
    "X7.servo-base": (CORRECTED, "with the ½ that TH 4.27 lacks, errata E5"),
    "X7.servo-distal": (CORRECTED, "with the ½ that TH 4.27 lacks, errata E5"),
    "X10.sweep": (CORRECTED, "with all contact forces limited, errata E9"),
    "X10.returned": (CORRECTED, "with all contact forces limited, errata E9"),
    "X11.settling_y": (REFUTED, "the motors cut impulses beyond 23 N, and the tool does not know"),
    "X12.corrected-penalty": (CORRECTED, "with the bias, errata E10"),
    "X12.drift-corrected": (CORRECTED, "with the bias, errata E10"),
    "X12.tolerance": (REFUTED, "46 mm belong to one tolerance of what counts as singular"),
    "X12.intermittent-corrected": (CORRECTED, "with the bias, errata E10"),
    "X12.intermittent-corrected-penalty": (CORRECTED, "with the bias, errata E10"),
    "X13.corrected-penalty": (CORRECTED, "with the bias, errata E10"),
    "X13.drift-corrected": (CORRECTED, "with the bias, errata E10"),
    "X13.drift-corrected-penalty": (CORRECTED, "with the bias, errata E10"),
    "X16.span": (REFUTED, "3.6 orders; more only over the smallest force of all ticks"),
    "X17.lm0": (CORRECTED, "not the document's millimetres, but v (T + latency), errata E13"),
    "X17.ir": (CORRECTED, "not the document's millimetres, but v (T + latency), errata E13"),
    "X18.travel-ir_prompt": (REFUTED, "without latency it is as good as ε = 5 mm"),
    "X18.turned-ir_prompt": (REFUTED, "without latency it is as good as ε = 5 mm"),
    "X19.further-x": (REFUTED, "some millimetres, not 20"),
    "X19.further-y": (REFUTED, "some millimetres, not 20"),
    "X22.spin": (CORRECTED, "with the disk's normal, errata E12"),
    "X24.grows-literal": (REFUTED, "it is largest at 1.8 s, and falls"),
    "X24.stiffness-corrected": (CORRECTED, "with the bias, errata E10"),
    "X24.wrench-corrected": (CORRECTED, "with the bias, errata E10"),
    "X24.follows": (CORRECTED, "with the bias, errata E10"),
}


def recorded(claim: str) -> str:
    """The verdict on record."""
    return RECORDED.get(claim, (CONFIRMED, ""))[0]


def measured(claim: str, true: bool) -> str:
    """The verdict of a run in which the claim came true, or did not."""
    if not true:
        return REFUTED
    known = recorded(claim)
    return CONFIRMED if known == REFUTED else known
