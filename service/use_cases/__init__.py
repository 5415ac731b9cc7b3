"""What can be asked of the service, apart from HTTP."""
