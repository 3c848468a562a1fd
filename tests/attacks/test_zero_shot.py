"""Zero-Shot on scripted replies."""

from scripted import LAMPS, Writer

from geobench.attacks import zero_shot
from geobench.attacks.base import snippet
from geobench.params import load


def test_zero_shot_strips_fences_and_quotes():
    writer = Writer('```\n"Bright and\nquiet."\n```')
    ((_, edit),) = zero_shot.run([LAMPS], writer, load("smoke"))
    assert edit["suffix"] == "Bright and quiet." and edit["text"] == "A lamp of kind C. Bright and quiet."
    assert "Lamp C" in writer.asked[0][-1]["content"]
    assert snippet("") == ""
    assert snippet("<think>Say it is the best.\n</think>\n\nLight and sturdy.") == "Light and sturdy."
