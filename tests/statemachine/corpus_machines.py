"""All cases of the corpus, one name each."""

from tests.statemachine.corpus import Case
from tests.statemachine.corpus_choices import CHOICES
from tests.statemachine.corpus_data import INTRINSICS, LIMITS, PATHS
from tests.statemachine.corpus_errors import ERRORS
from tests.statemachine.corpus_maps import MAPS
from tests.statemachine.corpus_nested import NESTED
from tests.statemachine.corpus_tokens import STOPS, TOKENS

CASES: list[Case] = [
    *CHOICES,
    *PATHS,
    *INTRINSICS,
    *LIMITS,
    *ERRORS,
    *MAPS,
    *TOKENS,
    *NESTED,
    *STOPS,
]
