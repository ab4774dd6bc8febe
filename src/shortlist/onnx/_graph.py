"""A small writer of ONNX graphs.

Everything is computed in double precision whatever the input: a threshold is compared
with a score, and a score that was rounded to seven digits may fall on its other side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

DOUBLE = TensorProto.DOUBLE
# Versions of the operators that are written, by domain.
OPSETS = {"": 18, "ai.onnx.ml": 5}


class Graph:
    """Nodes and constants, in the order in which they were asked for.

    Parameters
    ----------
    unique : callable, default=None
        Turns a wish into a name that nothing else of the graph bears.
    """

    def __init__(self, unique: Callable[[str], str] | None = None) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        # Whether Python has the rows in single precision: steps then round as it does, so that
        # a row at the split of a tree falls on the same side.
        self.single = False
        self._count = 0
        self._unique = unique or self._numbered

    def _numbered(self, wish: str) -> str:
        self._count += 1
        return f"{wish}_{self._count}"

    def name(self, wish: str) -> str:
        """Return a name that is free."""
        return self._unique(wish)

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add a constant and return its name."""
        name = self.name("constant")
        array = np.asarray(value, dtype=dtype)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, operator: str, *inputs: str, output: str | None = None, **settings: Any) -> str:
        """Add a node of one output and return the name of the output."""
        domain = settings.pop("domain", "")
        name = self.name(operator.lower()) if output is None else output
        node = helper.make_node(operator, list(inputs), [name], domain=domain)
        node.attribute.extend(_attribute(key, value) for key, value in settings.items())
        self.nodes.append(node)
        return name

    def axes(self, *numbers: int) -> str:
        """Return a constant of integers."""
        return self.constant(numbers, np.int64)

    def double(self, x: str) -> str:
        """Return the values in double precision."""
        return self.add("Cast", x, to=DOUBLE)

    def rounded(self, x: str) -> str:
        """Return the values as Python has them: rounded where its rows are single."""
        return self.double(self.add("Cast", x, to=TensorProto.FLOAT)) if self.single else x

    def row_by_row(self, x: str, body: Callable[[Graph, str], str], width: int) -> str:
        """Apply `body` to every row, one after the other.

        Where a kernel needs the differences of all pairs, this keeps the memory at those
        of one row.
        """
        part = Graph(self.name)
        row, out = self.name("row"), self.name("scores")
        part.add("Identity", body(part, row), output=out)
        graph = helper.make_graph(
            part.nodes,
            self.name("body"),
            [helper.make_tensor_value_info(row, DOUBLE, [None])],
            [helper.make_tensor_value_info(out, DOUBLE, [width])],
            initializer=part.constants,
        )
        return self.add("Scan", x, body=graph, num_scan_inputs=1)


def _attribute(name: str, value: Any) -> AttributeProto:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and name in _TENSORS:
        return helper.make_attribute(name, numpy_helper.from_array(value, name))
    if isinstance(value, GraphProto):
        return helper.make_attribute(name, value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return helper.make_attribute(name, value)


# Attributes that are tensors; all other arrays are lists of numbers or strings.
_TENSORS = frozenset(["nodes_splits", "nodes_modes", "leaf_weights"])
