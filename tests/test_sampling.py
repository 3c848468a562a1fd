from geobench.sampling import draw


def test_draw_keeps_order_and_nests():
    keys = list(range(100))
    draws = [draw(keys, n, 7, "targets") for n in (5, 20)]
    assert [len(d) for d in draws] == [5, 20]
    assert all(d == sorted(d) for d in draws) and set(draws[0]) < set(draws[1])
    assert draw(reversed(keys), 5, 7, "targets") == draws[0][::-1]
    assert draw(keys, 5, 8, "targets") != draws[0]
    assert draw(keys, None, 7) == draw(keys, 1000, 7) == keys


def test_draw_is_fixed_across_machines():
    # `printf '0|lists|tent' | sha256sum` begins with 1d, that of stove with 48, that of lamp with ed
    assert draw(["lamp", "stove", "tent"], 1, 0, "lists") == ["tent"]
    assert draw(["lamp", "stove", "tent"], 2, 0, "lists") == ["stove", "tent"]


def test_draw_is_about_uniform():
    counts = [0] * 8
    for seed in range(800):
        counts[draw(range(8), 1, seed)[0]] += 1
    assert min(counts) > 60 and max(counts) < 140  # 100 expected, standard deviation 9.4
