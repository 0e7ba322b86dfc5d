"""The agent's card: who this is, where it is reached, what it can do, and that it takes a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentProvider,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

from dibs.a2a.content import MODES

if TYPE_CHECKING:
    from dibs.a2a.offer import Offer, Skill

PATH = "/a2a"
WELL_KNOWN = "/.well-known/agent-card.json"
BINDING = "JSONRPC"
VERSIONS = ("1.0", "0.3")
"""Of the protocol; the newest first."""
_SCHEME = "token"


def card_of(offer: Offer, url: str) -> AgentCard:
    """The card of an agent that is reached at this URL (without the path)."""
    card = AgentCard(
        name=offer.name,
        description=offer.description,
        supported_interfaces=[
            AgentInterface(url=f"{url}{PATH}", protocol_binding=BINDING, protocol_version=version)
            for version in VERSIONS
        ],
        version=offer.version,
        capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=False),
        security_schemes={
            _SCHEME: SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(
                    scheme="Bearer", description="a token of dibs with the role orchestrator; viewer only reads"
                )
            )
        },
        security_requirements=[SecurityRequirement(schemes={_SCHEME: StringList()})],
        default_input_modes=MODES,
        default_output_modes=MODES,
        skills=[_skill(skill) for skill in offer.skills.values()],
    )
    if offer.organization is not None:
        card.provider.CopyFrom(AgentProvider(organization=offer.organization, url=url))
    return card


def _skill(skill: Skill) -> AgentSkill:
    return AgentSkill(
        id=skill.type,
        name=skill.name,
        description=skill.description,
        tags=skill.tags or (skill.type,),
        examples=skill.examples,
    )
