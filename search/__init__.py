"""The search: which opts are fastest for a kernel on a device. Pure, given builder, measurer, clock and trials."""

from search.actions import action_set
from search.beam import search
from search.errors import SearchError, UnknownActionSetError
from search.events import Answer, Event, GenerationEnded, SearchEnded, TrialEnded
from search.settings import EFFORT_S, Effort, SearchSettings, settings_for
from search.trial import Trial, TrialSource

__all__ = [
    "EFFORT_S",
    "Answer",
    "Effort",
    "Event",
    "GenerationEnded",
    "SearchEnded",
    "SearchError",
    "SearchSettings",
    "Trial",
    "TrialEnded",
    "TrialSource",
    "UnknownActionSetError",
    "action_set",
    "search",
    "settings_for",
]
