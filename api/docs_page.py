"""`/docs`: the OpenAPI page, with its script and style from here. See docs/decisions/122."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse

from api.schemas.examples import RESPONSES

DESCRIPTION = (
    "Answers from a team's documents, with what they cite. The examples are of the demo that "
    "`oncall demo` ingests. Who may use it, and how much of it: docs/http-api.md."
)
_SCRIPT = "swagger-ui-bundle.js"
_STYLE = "swagger-ui.css"
_NO_ICON = "data:,"


class Documented(FastAPI):
    """FastAPI leaves out of its OpenAPI page whatever is null, also where an example has it."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            page = super().openapi()
            for operation, examples in RESPONSES.items():
                method, _, path = operation.partition(" ")
                said = page["paths"][path][method.lower()]["responses"]["200"]
                shown = {name: {"value": value} for name, value in examples.items()}
                said["content"]["application/json"]["examples"] = shown
        return super().openapi()


def add_docs_page(app: FastAPI) -> None:
    """Everything that its visitor's browser asks for is on this server."""
    from importlib.resources import files

    from fastapi.openapi.docs import get_swagger_ui_html

    bundled = files("fastapi_offline") / "static"

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=app.title,
            swagger_js_url=f"/docs/{_SCRIPT}",
            swagger_css_url=f"/docs/{_STYLE}",
            swagger_favicon_url=_NO_ICON,
            # Else the page has a server of Swagger's look at the schema.
            swagger_ui_parameters={"validatorUrl": None},
        )

    @app.get(f"/docs/{_SCRIPT}", include_in_schema=False)
    def script() -> FileResponse:
        return FileResponse(str(bundled / _SCRIPT), media_type="text/javascript")

    @app.get(f"/docs/{_STYLE}", include_in_schema=False)
    def style() -> FileResponse:
        return FileResponse(str(bundled / _STYLE), media_type="text/css")
