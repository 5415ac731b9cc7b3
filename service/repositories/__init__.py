"""Queries, by what they are about. The claims of the queue are in service.job_queue."""
