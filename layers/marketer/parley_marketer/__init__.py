"""The marketer pack: an example of how a team adds functions, agents and data of its own.

``functions()`` registers the classes, ``agents()`` gives the demo's agents, ``documents()`` what its knowledge base
knows, ``install`` puts the demo's data into a project. Each project has its own copy of the data, and functions
change it.
"""

from __future__ import annotations

from importlib.resources import files

from parley.domain.agents import Agent
from parley.tools.data import ProjectData
from parley.tools.function import Function
from parley.turns.ports import Clock, Store
from parley_marketer import campaigns, data, demo_agents, orders, products, tasks


def functions() -> list[type[Function]]:
    """The pack's function classes."""
    return [
        products.GetTopProducts,
        products.ChangeCustomLabel,
        products.DuplicateProducts,
        orders.IssueRefund,
        tasks.CreateTask,
        campaigns.EditCampaignStatus,
        campaigns.AddNegativeKeywords,
    ]


def agents() -> list[Agent]:
    """The demo's agents."""
    return demo_agents.agents()


def documents() -> dict[str, str]:
    """The demo's knowledge documents, their texts by id: the files of the folder ``documents``."""
    found = sorted(files(__package__).joinpath("documents").iterdir(), key=lambda file: file.name)
    return {file.name: file.read_text(encoding="utf-8") for file in found}


def install(store: Store, project_id: str, clock: Clock) -> None:
    """Seed a project's data. Nothing that is there already is touched, so it may run at every start."""
    data.seed(ProjectData(store, project_id, data.PACK), installed_at=clock.now())
