"""A game in words: who chose the arm, and how long it stays."""

import re
from datetime import timedelta

from rich.console import Console

import holdfast as hf
from holdfast.decisions.cli import show_game
from holdfast.decisions.status import why, why_block, why_conversation

EACH = hf.TsallisInf(arms=["a", "b", "c"])


def said(router):
    return router.executor.read(why)


def of_key(router, decision):
    block = next(block for block in router.history.blocks() if block.number == decision.block)
    return why_conversation(router.executor.setup, block, decision.arm)


def test_a_conversation_says_what_it_drew_and_who_stands_in(place):
    router = place.open(policy=EACH, seed=3)
    first = router.ask(key="k1")
    drew = f"Conversation k1 drew {first.arm} with probability 0.333; "
    assert of_key(router, first) == f"{drew}it stays with {first.arm} until it ends."
    router.pause(first.arm)
    other = router.ask(key="k1")
    assert of_key(router, other) == f"{drew}that is paused or not available, so {other.arm} is handed out meanwhile."


def test_a_game_of_conversations_says_how_many_are_open_and_what_the_next_draws(place, capsys):
    router = place.open(policy=EACH, seed=3)
    assert said(router) == "The policy has drawn no arm yet: the next decision begins its first block."
    for key in "pqr":
        router.ask(key=key)
    router.end("q")
    every = "3 conversations drawn, 2 open; the next one draws a with 0.33, b 0.33, c 0.33."
    assert said(router) == every
    assert router.history.totals.conversations == 2
    show_game(router, Console(width=100))
    shown = capsys.readouterr().out
    assert every in shown
    assert "holding" not in shown
    router.pin("c")
    assert said(router).startswith("An operator has pinned c:")
    router.pin("c", until=timedelta(seconds=5))
    place.clock.now += 5.0
    assert router.why == every
    router.ask()
    assert said(router).endswith(" 2 conversations open; the next one draws a with 0.33, b 0.33, c 0.33.")
    assert said(router).startswith("Block 4 drew ")


def test_who_is_paused_is_said_though_another_arm_is_in_use(place):
    router = place.open(policy=hf.Exp3(arms=["a", "b", "c"]), seed=1)
    arm = router.ask().arm
    one, two = (name for name in "abc" if name != arm)
    router.pause(one, until=timedelta(minutes=10))
    assert re.search(rf" {one} is paused until \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$", router.why)
    router.resume(one)
    router.pause(two)
    assert router.why.endswith(f" {two} is paused until it is resumed.")
    router.resume(two)
    assert "paused" not in router.why


def test_a_pause_of_the_arm_in_use_is_said_until_its_end(place):
    router = place.open(policy=hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=50.0), seed=1)
    router.pause(router.ask().arm, until=timedelta(seconds=5))
    assert "; it is paused or not available, so " in router.why
    place.clock.now += 5.0
    assert "; it is certain to stay for " in router.why


def test_a_policy_that_does_not_know_its_probabilities_says_none(place):
    router = place.open(policy=hf.ThompsonSampling(arms=["a", "b", "c"]), seed=3)
    first = router.ask()
    assert said(router).startswith(f"Block 1 drew {first.arm} among 3 arms; ")
    router.pause("a")
    assert {(d.arm == "a", d.probability) for d in router.ask(40)} == {(False, 0.0)}
    key = router.ask(key="k1")
    assert of_key(router, key).startswith("Conversation k1 drew ")
    assert "probability" not in of_key(router, key)
    assert said(router).endswith(" 1 conversation open. a is paused until it is resumed.")


def test_arms_beyond_the_most_likely_are_said_together(place):
    router = place.open(policy=hf.TsallisInf(8), seed=3)
    router.ask(key="k1")
    assert said(router).endswith("draws 0 with 0.12, 1 0.12, 2 0.12, 3 0.12, 4 0.12, others 0.38.")


def test_an_arm_that_stands_in_for_a_block_of_one_round_is_explained(place):
    router = place.open(policy=EACH, seed=3)
    router.tell(router.ask().id, 0.5)
    stand_in = next(d for d in (router.ask(available=["a"]) for _ in range(20)) if "not available" in _why(router, d))
    drew = _why(router, stand_in).partition(" drew ")[2][0]
    assert drew in "bc"
    assert _why(router, stand_in).endswith("; it is paused or not available, so a is handed out.")


def _why(router, decision):
    return router.decision(decision.id).why


def test_what_the_rule_has_decided_is_said_to_be_the_rules(place):
    router = place.open(policy=hf.TsallisSwitch(arms=["a", "b"], switching_cost=1.5), seed=3, holdback=1.0)
    talk = router.ask(key="k1", rule="b")
    assert of_key(router, talk) == "Conversation k1 is left to your rule, which chose b; it stays with b until it ends."
    assert "1 conversation open; the next one is your rule's with 1, else it draws a with 0.50" in said(router)
    router.ask(rule="a")
    assert said(router).startswith("Block 2 is left to your rule, which plays a; it has 1 round more, ")


def test_a_game_whose_block_is_known_says_what_it_drew(place):
    router = place.open(policy=hf.TsallisSwitch(arms=["a", "b"], switching_cost=1.5), seed=3)
    arm = router.ask().arm
    head, setup = router.executor.read(lambda transaction, setup: (transaction.head, setup))
    words = f"Block 1 drew {arm} with probability 0.5 among 2 arms; it is certain to stay for 1 round more, then a new "
    assert said(router) == why_block(head, setup) == f"{words}block is drawn."


def test_only_a_block_that_waits_for_ever_is_said_to_be_overdue(place, capsys):
    for patience, overdue in ((timedelta(minutes=10), 0), ("forever", 1)):
        router = place.open(f"game of {patience}", hf.TsallisSwitch(arms=["a", "b"], switching_cost=1.5), seed=3,
                            patience=patience)  # fmt: skip
        router.ask(key="ended")
        router.ask(key="goes on")
        router.end("ended")
        router.ask()  # of a block with another round
        for i in range(60):
            router.tell(router.ask(key=str(i)).id, 0.5)
            router.end(str(i))
        assert router.history.totals.overdue == overdue
        show_game(router, Console(width=100))
        shown = capsys.readouterr().out
        assert ("warning" in shown) == (overdue > 0)
        assert "1 conversation open" in shown
    assert f"\nholdfast store change {router.store.url} 'game of forever' --patience 10m\n" in shown


def test_a_conversation_that_got_the_next_best_leaves_that(place):
    for seed in range(9):
        router = place.open(
            f"seed {seed}", policy=hf.Exp3(arms=["a", "b"]), seed=seed, share={"b": 0.01}, move_cost=0.5
        )
        first = router.ask(key="k")
        if "drew b" in router.decision(first.id).why:
            break
    assert first.arm == "a"
    router.change(share={})
    router.pause("a")
    found = router.decision(router.ask(key="k").id)
    assert "more than its share, and went to a; in its turn 2 it left a, which was paused" in found.why
    assert found.why.endswith("it stays with b until it ends.")
