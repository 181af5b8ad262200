"""Puts an installation behind a server: the deployed functions' own handlers, and the parts around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import on_http.api
import on_schedule.repair
import on_socket.authorize
import on_socket.route
from parley import assets, wiring
from parley.embedded.gateway_routes import Cors
from parley.embedded.server.contracts import Handlers, Service
from parley.installation import Installation
from parley.turns import projects
from parley.turns.import_session import import_session

PUBLIC = frozenset({"GET /openapi.json"})


def service_of(installation: Installation, *, allow_origins: Sequence[str] = ()) -> Service:
    """What a server serves of an open installation. The handlers of this process use it from now on."""
    wiring.use(installation.runtime)

    def enroll(user_id: str, project_id: str, wanted: str | None = None, /) -> None:
        project = projects.Project(project_id=project_id, name=project_id)
        made = projects.ensure_project(installation.runtime, project)
        role = projects.Role.OWNER if made else projects.Role.MEMBER
        projects.ensure_member(installation.runtime, project_id, user_id, role)
        if wanted is not None:
            projects.set_member(installation.runtime, project_id, user_id, projects.Role(wanted))

    def import_old(wanted: dict[str, Any]) -> dict[str, Any]:
        user, project, agent = (str(wanted[name]) for name in ("user", "project", "agent"))
        if not projects.has_project(installation.runtime, project):
            raise projects.not_found("project")
        enroll(user, project)
        imported = import_session(installation.runtime, user, project, agent, wanted["session"])
        return imported.model_dump()

    return Service(
        handlers=Handlers(
            http=on_http.api.handler,
            authorize=on_socket.authorize.handler,
            socket=on_socket.route.handler,
            repair=on_schedule.repair.handler,
        ),
        routes=tuple(on_http.api.routes()),
        public=PUBLIC,
        hub=installation.hub,
        issuer=installation.issuer,
        pages=assets.data_folder("web"),
        now=installation.runtime.clock.now,
        purge=installation.purge,
        enroll=enroll,
        import_session=import_old,
        cors=Cors(allow_origins=allow_origins) if allow_origins else None,
        working=installation.working,
    )
