"""What tinygrad's own PYTHON device computes for a kernel: a third opinion, from a black box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tinygrad import Device
from tinygrad.codegen.kernel import Kernel
from tinygrad.device import Buffer
from tinygrad.engine.realize import CompiledRunner

from tests.oracle import DTYPES, Document, document_to_uop

DEVICE = "PYTHON"


def oracle_values(document: Document, inputs: Mapping[int, Any]) -> dict[int, bytearray]:
    """The bytes of every buffer after the oracle ran the kernel without Opts."""
    runner = CompiledRunner(Kernel(document_to_uop(document), opts=Device[DEVICE].renderer).to_program())
    declared = {
        node["arg"]["slot"]: (node["dtype"], node["arg"]["size"])
        for node in document["nodes"]
        if node["op"] == "DEFINE_GLOBAL"
    }
    buffers = []
    for slot, (dtype, size) in sorted(declared.items()):
        buffer = Buffer(DEVICE, size, DTYPES[dtype]).allocate()
        content = np.ascontiguousarray(inputs[slot]).view(np.uint8) if slot in inputs else bytearray(buffer.nbytes)
        buffer.copyin(memoryview(content))
        buffers.append(buffer)
    runner([buffers[slot] for slot in runner.p.globals], {}, wait=True)
    found = {}
    for slot, buffer in enumerate(buffers):
        found[slot] = bytearray(buffer.nbytes)
        buffer.copyout(memoryview(found[slot]))
    return found
