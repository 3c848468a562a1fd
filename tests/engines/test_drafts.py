"""Drafts: what followed the last tokens before, the longest agreement first, and sizes that follow success."""

from geobench.engines.drafts import MOST, Draft, Drafts


def test_what_followed_the_last_tokens_is_guessed():
    drafts = Drafts()
    drafts.add([1, 2, 3, 4, 5, 6])
    assert drafts.guess([9, 2, 3, 4], 5) == [5, 6] and drafts.guess([2, 3, 4], 1) == [5]
    assert drafts.guess([9, 9, 3, 4], 5) == [5, 6]  # two tokens agree
    assert drafts.guess([9, 9, 4], 5) == drafts.guess([4, 5, 6], 5) == drafts.guess([1], 5) == []


def test_three_tokens_go_before_two_and_later_before_earlier():
    drafts = Drafts()
    drafts.add([1, 2, 3, 70])
    drafts.add([8, 2, 3, 80])
    assert drafts.guess([1, 2, 3], 1) == [70] and drafts.guess([5, 2, 3], 1) == [80]


def test_a_sequence_that_grows_is_indexed_where_it_is_new():
    drafts, text = Drafts(), [1, 2, 3]
    drafts.add(text)
    text += [4, 5]
    drafts.add(text, 3)
    assert drafts.guess([2, 3, 4], 3) == [5] and drafts.guess([1, 2, 3], 3) == [4, 5]


def test_rows_of_a_key_learn_from_each_other_and_from_themselves():
    drafts = Drafts()
    one, two = Draft(drafts, [10, 11, 12]), Draft(drafts, [20, 11, 12])
    written = []
    for token in (1, 2, 3, 4, 1, 2):
        written.append(token)
        one.guess(written, 5)
    assert one.guess([*written, 3], 2) == [4, 1]  # it repeats itself
    assert two.guess([1, 2, 3], 9) == [4, 1, 2, 3]


def test_the_size_follows_what_was_right_and_the_room():
    draft = Draft(Drafts(), [1, 2, 3, 4, 5, 6, 7, 8, 1, 2])
    assert draft.guess([3], 2) == [4, 5] and draft.guess([3], 9) == [4, 5, 6, 7]
    draft.learn(4, 1)
    assert draft.size == 2 and draft.guess([3], 9) == [4, 5]
    for _ in range(9):
        draft.learn(draft.size, draft.size)
    assert draft.size == MOST
    draft.learn(0, 0)
    assert draft.size == MOST
