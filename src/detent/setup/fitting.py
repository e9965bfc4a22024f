"""The coupling of a session that names a device of a data sheet, and no coupling."""

from __future__ import annotations

from detent.coupling import Admittance, Coupling, UnilateralCoupler, VirtualCoupler
from detent.devices.mapped import Mapped
from detent.devices.pantograph import Pantograph
from detent.devices.protocol import Device
from detent.errors import ParameterError
from detent.local.model import LocalModel
from detent.setup.combinations import suited
from detent.setup.sheets import sheet_of
from detent.setup.subject import Subject
from detent.world.contact import Contact, settled
from detent.world.weight import USUAL
from detent.world.world import World


def is_rigid(world: World) -> bool:
    """Whether the tool is a single body: nothing of a linkage is to be felt in free motion."""
    trees = world.model.body_treeid
    return int((trees == trees[world.held]).sum()) == 1 and world.model.neq == 0


def fitting_coupling(
    subject: Subject, device: Device | None, contact: Contact | None, local: LocalModel | None
) -> Coupling | None:
    """What suits a device of a sheet; None: the default of the session.

    No such device knows the hand's force, without which a four-channel coupling goes deep into a
    wall. A god object on the sheet's stiffness is felt where the wall is, and drags nothing
    (docs/decisions/0014); where it cannot be, a virtual coupler of the same gains.
    """
    model = device if isinstance(device, Pantograph) else sheet_of(device)
    if model is None or subject.mechanism is not None:
        return None
    if model.takes_motion:
        return Admittance()
    stiffness, damping = model.gains()
    if isinstance(device, Mapped):
        stiffness, damping = device.gains(stiffness, damping)
    spring = VirtualCoupler(stiffness=stiffness, damping=damping)
    tool_mask = subject.start().mask
    inside = bool((model.mask(tool_mask) <= tool_mask).all())
    if local is not None or not inside or not is_rigid(subject.world):
        return spring
    god = UnilateralCoupler(stiffness=stiffness, damping=damping)
    try:
        suited(settled(contact or Contact(), USUAL, subject.world.friction), god)
    except ParameterError:  # friction, walls, penalty contact
        return spring
    return god
