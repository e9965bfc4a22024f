"""``python -m detent``."""

from detent.cli import main

main()
