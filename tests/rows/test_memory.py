import numpy as np
import pytest

from shortlist.rows.memory import room


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0,), (0, 5), (7,), (3, 1000), (2, 3, 4)])
def test_it_holds_what_is_written(shape, dtype):
    array = room(shape, dtype)
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.flags.aligned
    assert array.flags.writeable
    values = np.arange(array.size, dtype=dtype).reshape(shape)
    array[...] = values
    np.testing.assert_array_equal(array, values)


def test_a_part_outlives_the_whole():
    part = room((1000, 1000), np.float64)[10:20]
    part[:] = 3.0
    others = [room((1000, 1000), np.float64) for _ in range(5)]
    for other in others:
        other[:] = 4.0
    assert (part == 3.0).all()


def test_more_than_there_is():
    with pytest.raises(MemoryError):
        room((1 << 60,), np.float32)
