"""How values, loads, stores and control flow are written in a kernel language."""
