"""The position of a replay after each key."""

from hypothesis import given
from hypothesis import strategies as st

from specchat.tui.widgets.deck import SPEEDS, Deck, clock, deck_line

MARKS = (1.0, 2.0, 4.0)


def test_a_step_goes_to_the_next_round_and_pauses() -> None:
    deck = Deck.of(MARKS).toggled(0.0).stepped(1, 100.0)
    assert not deck.head.playing
    places = [deck.place(200.0)]
    for _ in range(4):
        deck = deck.stepped(-1, 200.0)
        places.append(deck.place(200.0))
    assert places == [4.0, 2.0, 1.0, 0.0, 0.0]
    places.clear()
    for _ in range(4):
        deck = deck.stepped(1, 200.0)
        places.append(deck.place(200.0))
    assert places == [1.0, 2.0, 4.0, 4.0]


def test_a_short_turn_is_slowed_down_and_a_long_one_is_not() -> None:
    assert Deck.of((0.5, 1.5)).head.speed == 0.25
    assert Deck.of((0.5, 600.0)).head.speed == 1.0
    assert Deck.of(()).head.duration == 0.0


def test_at_the_end_it_stops_and_can_start_again() -> None:
    deck = Deck.of((0.0, 10.0)).toggled(0.0)
    assert deck.rested(5.0) == deck
    ended = deck.rested(11.0)
    assert not ended.head.playing
    assert ended.toggled(20.0).place(21.0) == 1.0


def test_a_new_speed_applies_from_here() -> None:
    deck = Deck.of((0.0, 100.0)).toggled(0.0).faster(1, 10.0)
    assert deck.place(11.0) == 12.0
    assert deck.faster(99, 11.0).head.speed == SPEEDS[-1]
    assert deck.faster(-99, 11.0).head.speed == SPEEDS[0]


@given(
    st.lists(st.floats(0, 1000), max_size=8).map(sorted),
    st.lists(st.sampled_from(["toggled", "back", "on", "faster", "slower"]), max_size=12),
    st.integers(20, 200),
)
def test_any_keys_keep_it_within_the_turn_and_its_row_fits(marks: list[float], keys: list[str], width: int) -> None:
    deck = Deck.of(marks)
    for now, key in enumerate(keys):
        match key:
            case "toggled":
                deck = deck.toggled(now)
            case "back" | "on":
                deck = deck.stepped(1 if key == "on" else -1, now)
                assert deck.place(now) == 0.0 or deck.place(now) in marks
            case _:
                deck = deck.faster(1 if key == "faster" else -1, now)
        assert 0.0 <= deck.place(now) <= deck.head.duration
        assert deck_line(deck, now, "round 3 of 9", width).cell_length <= width


def test_the_clock_has_minutes_and_hundredths() -> None:
    assert (clock(0.004), clock(1.25), clock(59.999), clock(61.5)) == ("0:00.00", "0:01.25", "1:00.00", "1:01.50")
