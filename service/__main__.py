"""`python -m service`: see service.cli."""

from service.cli import app

app(prog_name="python -m service")
