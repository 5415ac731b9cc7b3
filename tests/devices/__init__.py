"""Running programs on an OpenCL device in tests: in a child that can be killed, between guard bytes."""
