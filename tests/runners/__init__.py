"""The runners, on PoCL where a device is needed."""
