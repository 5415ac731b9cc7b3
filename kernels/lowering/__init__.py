"""From a kernel's axes to a program: launch, dependences, lanes, loops and values, straight from the axes' roles."""
