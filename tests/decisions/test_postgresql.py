"""What PostgreSQL alone does: values are written into statements."""

import pytest
from places import fresh_schema

import holdfast as hf

WORDS = "é' \\ ? %s %% $1 -- ; \""


@pytest.mark.parametrize(
    "setting",
    ["&client_encoding=UTF8", "&client_encoding=LATIN1", "%20-cstandard_conforming_strings%3Doff"],
)
def test_a_server_gets_words_as_they_are(postgres, setting):
    """Quotes, backslashes, what stands for values elsewhere, and the connection's encoding."""
    url = fresh_schema(postgres) + setting  # which ends in options
    with hf.open(url, WORDS, hf.Exp3(arms=[WORDS, "b"]), seed=1) as router:
        decisions = router.ask(5, request=WORDS)
        router.tell({decision.id: 0.1 for decision in decisions})
        assert router.ask(5, request=WORDS) == decisions
        assert router.store.names() == [WORDS]
    with hf.open(url, WORDS) as router:
        assert router.policy.arms == (WORDS, "b")
        assert router.history.totals.told == 5


@pytest.mark.parametrize("loss", [0.1, 1 / 3, 5e-324, 1.0 - 2**-53, 1e-7])
def test_a_number_comes_back_as_it_was(postgres, loss):
    with hf.open(fresh_schema(postgres), "numbers", hf.Exp3(2), seed=1) as router:
        router.tell(router.ask().id, loss)
        assert router.history.log["loss"].to_list() == [loss]
