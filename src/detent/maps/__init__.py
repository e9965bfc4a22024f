"""Maps of stability: many sessions over two parameters, on all cores or on many machines."""

from detent.maps.cells import PARAMETERS, Setting
from detent.maps.grid import Axis, Grid, parse_axis
from detent.maps.run import run_map

__all__ = ["PARAMETERS", "Axis", "Grid", "Setting", "parse_axis", "run_map"]
