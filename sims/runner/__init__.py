"""The runner: a child process of the Celery task that does one simulation.

It reports over HTTP alone, as a simulator on any other machine would; from the task it gets a file with what to do,
and a line (``line``) over which the two agree on stopping and on the lease. Nothing in here touches the database.
"""
