"""How a kind of device is reached. Each backend is imported only in a device's child."""
