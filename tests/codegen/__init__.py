"""Programs as a whole: what they compute on a real OpenCL device, and what their sources are."""
