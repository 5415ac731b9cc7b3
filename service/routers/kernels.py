"""Kernels: sending one, and asking for the best that is known of one."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse

from kernels import json_schema
from service.http_body import read_json_body
from service.routers.context import WithContext
from service.schemas import BestAnswer, BestQuery, Key, SubmitAnswer, SubmitRequest
from service.use_cases.best import best
from service.use_cases.submit import submit

router = APIRouter(tags=["kernels"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": SubmitRequest.model_json_schema()}},
    }
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": SubmitAnswer, "description": "A record satisfies it"},
    202: {"model": SubmitAnswer, "description": "Opts to begin with, and a job"},
}


@router.post("/v1/kernels", responses=_ANSWERS, openapi_extra=_BODY)
async def post_kernel(request: Request, response: Response, context: WithContext) -> SubmitAnswer:
    """Send a kernel: the best opts known come back at once, and a job where better ones are worth looking for."""
    body = await read_json_body(request, context.settings.body_limit_bytes)
    waiting_s = context.settings.waiting_expires_s
    answer = await run_in_threadpool(submit, context.database, body, waiting_s, time.time())
    response.status_code = 200 if answer.job is None else 202
    return answer


@router.get("/v1/best/{ast_key}")
def get_best(ast_key: Annotated[Key, Path()], query: Annotated[BestQuery, Query()], context: WithContext) -> BestAnswer:
    """The best opts known of a kernel on a device; the tier `none` and the reason where nothing is known."""
    return best(context.database, ast_key, query.device, query.variables)


@router.get("/v1/kernel-ast-1.schema.json", response_class=JSONResponse)
def get_schema() -> JSONResponse:
    """The JSON Schema of the form in which kernels are sent."""
    return JSONResponse(json_schema(), media_type="application/schema+json")
