"""How the bodies of a world meet."""

from __future__ import annotations

from dataclasses import dataclass, replace

from detent.checks import flag, fraction, instance, not_negative, one_of
from detent.errors import ParameterError
from detent.kernels.ringing import MATERIALS
from detent.world.friction import NO_FRICTION, Friction
from detent.world.wall import PLAIN_WALL, Wall
from detent.world.weight import USUAL

MODES = ("impulse", "penalty", "rigid")
METHODS = ("complementarity", "equality")
SELF_COLLISIONS = ("relative", "split")
STRATEGIES = ("full", "saturate", "scale", "spread")
LIMITS = ("plastic", "total", "collision_only", "rezero")
RIGID_LAWS = ("reset-integrator", "none")


@dataclass(frozen=True)
class Contact:
    """Contact properties of the whole world; geoms can override them (see `World`).

    Stiffness and damping act at every contact point, so a face with four contact points is
    four times as stiff. With ``resultant`` they are those of the whole face, however many
    points the collision detection reports (B9). Left out, they are those of the world: what
    holds its heaviest body within 0.5 mm on one contact, at least 4 kN/m (`world.weight`); a
    session's contact has the numbers. ``friction`` left out is the world's own, too: that of its
    geoms, pair by pair, and none in built-in worlds. A `Friction` replaces it, `NO_FRICTION`
    removes it.

    ``mode`` is ``"impulse"`` (impulses on collision, penalty at rest: TH 4.2),
    ``"penalty"`` (never an impulse) or ``"rigid"`` (complementarity time stepping without
    penetration; friction there is Coulomb's, without bonds that stretch, and stiffness and damping
    mean nothing: they are kept for a change of mode). ``method``,
    ``self_collision`` and ``clamp`` are right by default; ``"equality"``, ``"split"`` and
    ``False`` are the documents to the letter (errata E3, E4). ``method`` and ``restitution``
    are about collisions: penalty contact has none, and rigid contact only takes the restitution.
    Collisions by ``"equality"`` are without friction.

    Where the device has limits, ``strategy`` says what becomes of a contact response that is
    too strong for it: ``"full"`` ignores the limits, ``"saturate"`` cuts at the device only,
    ``"scale"`` cuts in the simulation too, ``"spread"`` also goes on with the collision until
    nothing had to be cut. By default (``limit="plastic"``) contacts come first, weight gets what
    is left, and a wall gives way where its force was cut: it returns at most a tenth of the
    energy, and comes back to its surface (`servo.contact.plastic`). ``"total"`` limits all forces
    and keeps the spring loaded. ``"collision_only"`` limits impulses but not penalty forces, as
    TH 4.5.2 does; that can give energy back that nobody put in (errata E9). ``"rezero"``: the
    penalty spring starts unloaded where a collision ends, and stays there.

    ``material`` is how a collision feels: None, an impulse within one step (TH 4.45), or the
    same momentum as the decaying vibration of a tapped ``"rubber"``, ``"wood"`` or ``"metal"``
    (B7, `detent.kernels.ringing`), within the device's limits. Bodies do not move by it.
    """

    stiffness: float | None = None  # [N/m]; None: what holds the bodies' weight within 0.5 mm
    damping: float | None = None  # [N·s/m]; None: what suits that, 30 with a stiffness of your own
    restitution: float = 0.0  # [-]
    resultant: bool = False
    mode: str = "impulse"
    method: str = "complementarity"
    self_collision: str = "relative"
    clamp: bool = True  # a contact never pulls
    friction: Friction | None = None  # None: what the world says
    wall: Wall = PLAIN_WALL  # normal force at rest
    strategy: str = "spread"  # where the device has limits (TH 4.5.2)
    limit: str = "plastic"  # what of the contact response is limited
    material: str | None = None  # how collisions feel at the device

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            if getattr(self, name) is not None:
                not_negative(name, getattr(self, name))
        fraction("restitution", self.restitution)
        flag("resultant", self.resultant)
        flag("clamp", self.clamp)
        if self.friction is not None:
            allowed = "None, or a Friction, such as Friction(static=0.3)"
            instance("friction", self.friction, Friction, allowed)
        instance("wall", self.wall, Wall, 'a Wall, such as Wall("seh")')
        one_of("contact mode", self.mode, MODES)
        one_of("collision method", self.method, METHODS)
        one_of("self-collision row", self.self_collision, SELF_COLLISIONS)
        one_of("strategy", self.strategy, STRATEGIES)
        one_of("limit", self.limit, LIMITS)
        if self.material is not None:
            one_of("material", self.material, MATERIALS)
            if self.mode != "impulse":
                allowed = f"None with {self.mode} contact, which has no impulses that could ring"
                raise ParameterError("material", self.material, allowed)
        if self.mode != "impulse":
            check_collisions(self)
        if self.mode == "rigid":
            check_rigid(self)

    @property
    def rubbing(self) -> Friction:
        """Its friction: none where no session settled it."""
        return self.friction or NO_FRICTION

    @property
    def gains(self) -> tuple[float, float]:
        """[N/m, N·s/m] stiffness and damping: the usual ones where no session settled them."""
        usual = settled(self, USUAL, NO_FRICTION)
        return float(usual.stiffness or 0.0), float(usual.damping or 0.0)


def settled(contact: Contact, gains: tuple[float, float], friction: Friction) -> Contact:
    """A contact with what was left out: *gains* [N/m, N·s/m] and *friction* are its world's."""
    stiffness, damping = contact.stiffness, contact.damping
    if damping is None:
        damping = gains[1] if stiffness is None else USUAL[1]
    return replace(
        contact,
        stiffness=gains[0] if stiffness is None else stiffness,
        damping=damping,
        friction=contact.friction or friction,
    )


def check_collisions(contact: Contact) -> None:
    """Refuse what only collisions know, where there are none apart from rest."""
    where = f'with {contact.mode} contact: only mode="impulse" tells collisions from rest'
    if contact.limit == "rezero":
        raise ParameterError("limit", contact.limit, f"plastic, total or collision_only {where}")
    if contact.self_collision == "split":
        raise ParameterError("self_collision", contact.self_collision, f"relative {where}")


def check_rigid(contact: Contact, rigid: str = "rigid contact") -> None:
    """Rigid contact has no penalty force, and Coulomb's law: no bonds, in collisions as at rest."""
    friction = contact.rubbing
    if contact.wall.law != "zoh":
        allowed = f"zoh with {rigid}, which has no penalty force that a wall could shape"
        raise ParameterError("wall", contact.wall.law, allowed)
    if not contact.clamp:
        raise ParameterError("clamp", contact.clamp, f"True with {rigid}, which never pulls")
    if friction.law not in RIGID_LAWS:
        allowed = f"{' or '.join(RIGID_LAWS)} with {rigid}, where no bond stretches"
        raise ParameterError("friction law", friction.law, allowed)
    if friction.law != "none" and not friction.impacts:
        allowed = f"True with {rigid}, which does not tell collisions from rest"
        raise ParameterError("friction impacts", friction.impacts, allowed)
