"""Peak memory grows with what was held at once."""

import numpy as np

from geobench.memory import peak_mib


def test_the_peak_holds_an_array_that_is_gone():
    before = peak_mib()
    held = np.ones((before + 64) * 2**17)  # 8 bytes each: as many MiB as the process ever had, and 64 more
    assert held[0] == 1
    del held
    assert peak_mib() >= before + 64
