import numpy as np
import pytest

from shortlist._core import room


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 7), (3, 1000)])
def test_it_holds_what_is_written(shape, single):
    array = room(*shape, single)
    assert array.shape == shape
    assert array.dtype == (np.float32 if single else np.float64)
    assert array.flags.c_contiguous
    assert array.flags.aligned
    assert array.flags.writeable
    values = np.arange(array.size, dtype=array.dtype).reshape(shape)
    array[...] = values
    np.testing.assert_array_equal(array, values)


def test_a_part_outlives_the_whole():
    part = room(1000, 1000, False)[10:20]
    part[:] = 3.0
    others = [room(1000, 1000, False) for _ in range(5)]
    for other in others:
        other[:] = 4.0
    assert (part == 3.0).all()


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 10), (1 << 62, 4), (2, 1 << 63)])
def test_more_than_there_is(shape):
    with pytest.raises(MemoryError):
        room(*shape, True)
