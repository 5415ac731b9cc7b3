"""Whether a device computes what it should, looked at each time it is opened.

Drivers were seen that run the loop before a barrier wrongly where work-items leave it after different numbers of
rounds. So one work-group finds the least and the greatest of n numbers: an uneven loop, a barrier, and a tree.
"""

from __future__ import annotations

import numpy as np

from runners.backends.base import OpenDevice
from runners.errors import SelfCheckError

_WORK_GROUP = 256
_COUNTS = (1, 100, 256, 1000, 4097)
_SOURCE = """
__kernel void self_check(__global const float* numbers, __global float* found, int count) {
  __local float least[GROUP];
  __local float greatest[GROUP];
  int item = get_local_id(0);
  float low = INFINITY;
  float high = -INFINITY;
  for (int i = item; i < count; i += GROUP) {
    low = fmin(low, numbers[i]);
    high = fmax(high, numbers[i]);
  }
  least[item] = low;
  greatest[item] = high;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = GROUP / 2; step > 0; step /= 2) {
    if (item < step) {
      least[item] = fmin(least[item], least[item + step]);
      greatest[item] = fmax(greatest[item], greatest[item + step]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) {
    found[0] = least[0];
    found[1] = greatest[0];
  }
}
"""


def check_device(device: OpenDevice) -> None:
    """Raises SelfCheckError where a result is wrong, BackendError where the driver refuses."""
    group = min(_WORK_GROUP, 1 << (device.info.limits.work_group_max.bit_length() - 1))
    executable = device.build(f"#define GROUP {group}\n{_SOURCE}", "self_check")
    numbers, found = device.allocate(max(_COUNTS) * 4), device.allocate(8)
    for count in _COUNTS:
        data = ((np.arange(count, dtype=np.int64) * 2654435761 + count) % 65521).astype(np.float32) - 30000
        data[count // 2], data[-1] = -50000.0, 50000.0 + count
        numbers.write(data)
        found.write(np.full(2, np.nan, np.float32))
        device.run(executable, (group, 1, 1), (group, 1, 1), (numbers, found), (count,))
        low, high = found.read(8).view(np.float32)
        if low != data.min() or high != data.max():
            wanted = f"{data.min()} and {data.max()}"
            raise SelfCheckError(
                f"least and greatest of {count} numbers are {wanted}, and the device found {low} and {high}"
            )
