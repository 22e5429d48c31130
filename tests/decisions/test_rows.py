"""What rows are made of: runs of losses, sums, numbers by name; and ids."""

import hashlib
import json
import struct
from base64 import b64decode, b64encode

import numpy as np
import pytest
from games import SWITCH
from hypothesis import given, strategies as st

import holdfast as hf
from holdfast.decisions import decision, rows
from holdfast.decisions.decision import Ids
from holdfast.decisions.records import recorded, told_together
from holdfast.decisions.rows import Tell, as_parts, parts_of
from holdfast.decisions.stored import as_json, blocks_of, numbers_of
from holdfast.errors import BadStore, HoldfastError, UnknownDecision
from holdfast.players.game import Game

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(st.integers(0, 400), FLOATS, min_size=1, max_size=300), st.randoms())
def test_losses_told_together_are_read_back_one_by_one(losses, order):
    """In any order, with gaps, more than fit in a row: as few rows as runs and their lengths ask for."""
    told = list(losses.items())
    order.shuffle(told)
    made = told_together(1, 7, dict(told), 2.0)
    assert recorded(made) == {number: (loss, 0) for number, loss in losses.items()}
    assert max(1 + len(parts_of(tell.more)) for tell in made) <= rows.MOST_TOGETHER
    runs = sum(number - 1 not in losses for number in losses)
    assert len(made) <= runs + len(losses) // rows.MOST_TOGETHER
    assert [tell.first for tell in made] == sorted(tell.first for tell in made)


def test_a_late_loss_is_a_row_of_its_own():
    tells = [Tell(1, 7, 3, 0.5, 2.0, 0, "[0.25, 0.75]"), Tell(1, 7, 9, 0.1, 2.0, 1)]
    assert recorded(tells) == {3: (0.5, 0), 4: (0.25, 0), 5: (0.75, 0), 9: (0.1, 1)}


@given(st.lists(FLOATS))
def test_parts_are_json_and_exact(numbers):
    assert json.loads(as_parts(numbers)) == numbers == parts_of(as_parts(numbers))
    assert parts_of(json.dumps(numbers)) == numbers


@pytest.mark.parametrize("text", ["", "[", "]", "1.0", "[1.0", "[1.0, ]", "[a]", "{}", "[[1.0]]", None, 3, 2.5])
def test_damaged_parts_are_refused(text):
    with pytest.raises(BadStore, match="a sum of losses cannot be read"):
        parts_of(text)


@given(st.dictionaries(st.from_regex(r"[A-Za-z_]{1,6}", fullmatch=True), FLOATS | st.lists(FLOATS), max_size=9))
def test_numbers_by_name_are_json(numbers):
    text = as_json(tuple(numbers), tuple(numbers.values()))
    assert json.loads(text) == numbers
    assert json.loads(as_json(("inner", "n"), (text, 1))) == {"inner": numbers, "n": 1}


LAYOUT = SWITCH.kernels.block_layout


@given(st.lists(FLOATS, min_size=3 * len(LAYOUT.names), max_size=3 * len(LAYOUT.names)))
def test_blocks_are_kept_bit_for_bit(numbers):
    blocks = np.array(numbers).reshape(3, -1)
    texts = blocks_of(Game(SWITCH, seed=1), blocks)
    back = [list(numbers_of(text, LAYOUT).values()) for text in texts]
    assert np.array(back).tobytes() == blocks.tobytes()
    assert list(numbers_of(texts[0], LAYOUT)) == list(LAYOUT.names)
    written = json.dumps(dict(zip(LAYOUT.names, numbers[: len(LAYOUT.names)], strict=True)))
    assert numbers_of(written, LAYOUT) == numbers_of(texts[0], LAYOUT)  # as they were kept once


def test_blocks_that_cannot_be_are_neither_written_nor_read():
    blocks = np.zeros((2, len(LAYOUT.names)))
    text = blocks_of(Game(SWITCH, seed=1), blocks)[1]
    other = blocks_of(Game(hf.Exp3(3), seed=1), np.zeros((1, len(hf.Exp3(3).kernels.block_layout.names))))[0]
    mark = b64decode(text)[:4]
    holes = b64encode(mark + np.full(len(LAYOUT.names), np.nan).tobytes()).decode()
    for wrong in ("", "AAAA", text[4:], text + text, other, holes, text.replace("A", "ä"), '{"arm": 1.0}'):
        with pytest.raises((ValueError, struct.error)):
            numbers_of(wrong, LAYOUT)
    blocks[1, 2] = np.inf
    with pytest.raises(HoldfastError, match="probability of the policy's kernels must be finite; got inf: nothing was"):
        blocks_of(Game(SWITCH, seed=1), blocks)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, -float("inf")]])
def test_numbers_that_are_none_are_never_written(value):
    with pytest.raises(HoldfastError, match="x of the policy's kernels must be finite; got"):
        as_json(("info", "x"), (1.0, value))


def test_a_game_whose_numbers_go_wrong_stays_as_it_was(place):
    """A user's own kernel may be wrong: nothing is written that cannot be read again."""
    router = place.open(policy=SWITCH, seed=1)
    router.tell([(d.id, 0.5) for d in router.ask(20)])
    router.ask(30)
    before = router.history.totals
    router._book._game.vectors[:] = np.nan
    with pytest.raises(HoldfastError, match="must be finite"):
        router.ask(30)
    assert router.history.totals == before
    assert len(router.ask(30)) == 30


def test_ids_are_signed_place_by_place():
    ids, stranger = Ids("a1", "secret"), Ids("a1", "secret")
    made = [ids.of(12, number) for number in range(3, 6)]
    for number, id in enumerate(made, 3):
        place = f"12-{number}"
        assert id == f"a1-{place}-{hashlib.blake2b(place.encode(), key=b'secret', digest_size=8).hexdigest()}"
        assert ids.place_of(id) == ids.place_of(id) == stranger.place_of(id) == (12, number)
    forged = made[0].replace("12-3", "12-4")
    for reader in (ids, stranger):
        with pytest.raises(UnknownDecision, match="was never handed out by this player"):
            reader.place_of(forged)


def test_a_process_knows_few_of_the_ids_it_gave_out():
    ids = Ids("a1", "secret")
    for count in (1, 64, 200, 255, decision.RECENT, decision.RECENT + 1, 5000):
        made = [ids.of(count, number) for number in range(count)]
        assert len(ids._recent) <= decision.RECENT
        assert [ids.place_of(id) for id in made] == [(count, number) for number in range(count)]


def test_a_decision_is_what_it_says(place):
    given = place.open(policy=SWITCH, seed=1).ask()
    assert given == hf.Decision(given.id, given.arm, given.probability, given.block, given.asked)
    assert list(given._asdict()) == ["id", "arm", "probability", "block", "asked"]
