"""All cases of the corpus, one name each."""

from tests.statemachine.corpus import Case
from tests.statemachine.corpus_data import DATA_CASES
from tests.statemachine.corpus_flow import FLOW_CASES

CASES: list[Case] = [*DATA_CASES, *FLOW_CASES]
