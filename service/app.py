"""The service as an ASGI application."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import structlog
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from service import BEAMTUNE_VERSION
from service.database import Database
from service.errors import DatabaseError
from service.http_errors import ERROR_RESPONSES, add_error_handlers
from service.job_queue import JobQueue
from service.pages import routes as pages
from service.routers import job_events, jobs, kernels, state
from service.routers.context import Context
from service.settings import Settings

_log = structlog.get_logger(__name__)

#: Seconds between two looks for jobs that no runner came for.
EXPIRE_EVERY_S = 30.0


def create_app(settings: Settings, database: Database) -> FastAPI:
    """The service on a database that is of this version already."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_expire_jobs, JobQueue(database))
            yield
            tasks.cancel_scope.cancel()
        database.close()

    app = FastAPI(
        title="Beamtune",
        version=BEAMTUNE_VERSION,
        description="A beam-search autotuning service for compute kernels.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        responses=ERROR_RESPONSES,
    )
    app.state.context = Context(settings, database)
    add_error_handlers(app)
    for router in (kernels.router, jobs.router, job_events.router, state.router, pages.router):
        app.include_router(router)
    app.mount("/static", pages.PageFiles(directory=pages.STATIC), name="static")
    return app


async def _expire_jobs(queue: JobQueue) -> None:
    while True:
        try:
            for job_id in await run_in_threadpool(queue.expire, time.time()):
                _log.info("job expired", job=job_id)
        except DatabaseError as error:
            _log.warning("jobs were not looked through", code=error.code, error=str(error))
        await anyio.sleep(EXPIRE_EVERY_S)
