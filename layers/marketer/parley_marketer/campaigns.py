"""Functions over advertising campaigns."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from parley.tools.function import Function, FunctionArguments, FunctionFailed
from parley_marketer.data import CAMPAIGNS, PACK, campaign_key

Keyword = Annotated[str, Field(min_length=1, max_length=80)]


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

    def handle(self, arguments: Arguments) -> str:
        """What the campaign's status is now."""
        campaign = self.context.data.update(
            campaign_key(arguments.campaign_id),
            lambda value: {**_existing(self, value, arguments.campaign_id), "status": arguments.status},
        )
        return f"Campaign {campaign['id']} ({campaign['name']}) is {arguments.status}."


class AddNegativeKeywords(Function):
    """Repeatable by nature: keywords that are there are not added again."""

    name = "addNegativeKeywords"
    description = "Adds keywords for which a campaign is not shown."
    pack = PACK
    requires_user_confirmation = True
    confirmation_question = "Add {keywords.count} negative keywords ({keywords}) to campaign {campaign_id}?"

    class Arguments(FunctionArguments):
        """Which campaign, which keywords."""

        campaign_id: int = Field(ge=1, description="Campaign number.")
        keywords: list[Keyword] = Field(min_length=1, max_length=50)

    def handle(self, arguments: Arguments) -> str:
        """The campaign's negative keywords now."""

        def extended(value: dict[str, Any] | None) -> dict[str, Any]:
            campaign = _existing(self, value, arguments.campaign_id)
            keywords = dict.fromkeys([*campaign["negative_keywords"], *arguments.keywords])
            return {**campaign, "negative_keywords": list(keywords)}

        campaign = self.context.data.update(campaign_key(arguments.campaign_id), extended)
        keywords = ", ".join(campaign["negative_keywords"])
        return f"Campaign {campaign['id']} ({campaign['name']}) has the negative keywords: {keywords}."


def _existing(function: Function, campaign: dict[str, Any] | None, campaign_id: int) -> dict[str, Any]:
    if campaign is None:
        known = ", ".join(str(entry.value["id"]) for entry in function.context.data.list(CAMPAIGNS))
        raise FunctionFailed(f"There is no campaign {campaign_id}. The campaigns are: {known or 'none'}.")
    return campaign
