"""Devices: children that hold them, building, verifying and timing programs. Others need only `runners.api`."""
