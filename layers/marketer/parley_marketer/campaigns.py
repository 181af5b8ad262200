"""Functions over advertising campaigns."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from parley.tools.function import Function, FunctionArguments, FunctionFailed, FunctionResult
from parley_marketer.data import CAMPAIGNS, PACK, OneLine, campaign_key

Keyword = Annotated[OneLine, Field(max_length=80)]


class EditCampaignStatus(Function):
    """Repeatable by nature."""

    name = "editCampaignStatus"
    description = "Enables or pauses a campaign."
    pack = PACK
    requires_user_confirmation = True
    confirmation_question = "Set campaign {campaign_id} to {status}?"

    class Arguments(FunctionArguments):
        """Which campaign, which status."""

        campaign_id: int = Field(ge=1, description="Campaign number.")
        status: Literal["enabled", "paused"]

    def handle(self, arguments: Arguments) -> FunctionResult:
        """What the campaign's status is now, and for the page all campaigns."""
        campaign = self.context.data.update(
            campaign_key(arguments.campaign_id),
            lambda value: {**_existing(self, value, arguments.campaign_id), "status": arguments.status},
        )
        words = f"Campaign {campaign['id']} ({campaign['name']}) is {arguments.status}."
        return FunctionResult(words, {"table_data": _table(self)})


class AddNegativeKeywords(Function):
    """Repeatable by nature: keywords that are there are not added again, in whichever case they are written."""

    name = "addNegativeKeywords"
    description = "Adds keywords for which a campaign is not shown."
    pack = PACK
    requires_user_confirmation = True
    confirmation_question = "Add {keywords.count} negative keywords ({keywords}) to campaign {campaign_id}?"

    class Arguments(FunctionArguments):
        """Which campaign, which keywords."""

        campaign_id: int = Field(ge=1, description="Campaign number.")
        keywords: list[Keyword] = Field(min_length=1, max_length=50)

    def handle(self, arguments: Arguments) -> FunctionResult:
        """The campaign's negative keywords now, and for the page all campaigns."""

        def extended(value: dict[str, Any] | None) -> dict[str, Any]:
            campaign = _existing(self, value, arguments.campaign_id)
            keywords: dict[str, str] = {}
            for keyword in (*campaign["negative_keywords"], *arguments.keywords):
                keywords.setdefault(keyword.casefold(), keyword)
            return {**campaign, "negative_keywords": list(keywords.values())}

        campaign = self.context.data.update(campaign_key(arguments.campaign_id), extended)
        keywords = ", ".join(campaign["negative_keywords"])
        words = f"Campaign {campaign['id']} ({campaign['name']}) has the negative keywords: {keywords}."
        return FunctionResult(words, {"table_data": _table(self)})


def _table(function: Function) -> dict[str, Any]:
    campaigns = [entry.value for entry in function.context.data.list(CAMPAIGNS)]
    rows = [
        [campaign["id"], campaign["name"], campaign["status"], ", ".join(campaign["negative_keywords"])]
        for campaign in campaigns
    ]
    return {"columns": ["id", "name", "status", "negative keywords"], "rows": rows}


def _existing(function: Function, campaign: dict[str, Any] | None, campaign_id: int) -> dict[str, Any]:
    if campaign is None:
        known = ", ".join(str(entry.value["id"]) for entry in function.context.data.list(CAMPAIGNS))
        raise FunctionFailed(f"There is no campaign {campaign_id}. The campaigns are: {known or 'none'}.")
    return campaign
