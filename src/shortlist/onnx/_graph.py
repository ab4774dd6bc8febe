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
# The last is onnxruntime's own.
OPSETS = {"": 18, "ai.onnx.ml": 5, "com.microsoft": 1}


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
        self.domains = {""}
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
        self.domains.add(domain)
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

    def several(self, operator: str, *inputs: str, count: int, **settings: Any) -> list[str]:
        """Add a node of `count` outputs and return their names."""
        names = [self.add(operator, *inputs, **settings)]
        names += [self.name(operator.lower()) for _ in range(count - 1)]
        self.nodes[-1].output.extend(names[1:])
        return names

    def row_by_row(self, x: str, body: Callable[[Graph, str], str], width: int) -> str:
        """Apply `body` to every row, one after the other.

        Where a kernel needs the differences of all pairs, this keeps the memory at those
        of one row.
        """
        return self.scan(lambda part, row: [body(part, row)], [], [(x, DOUBLE)], (DOUBLE, [width]))

    def scan(
        self,
        body: Callable[..., list[str]],
        states: list[tuple[str, int]],
        inputs: list[tuple[str, int]],
        output: tuple[int, list[Any]],
        axis: int = 0,
    ) -> str:
        """Apply `body` to one slice of the inputs after the other; stack what comes last.

        Parameters
        ----------
        body : callable
            Takes a graph, the states and a slice of each input, all by name, and returns the
            new states and an output.
        states, inputs : list of (name, type)
            What is handed on, and what is cut.
        output : (type, shape)
            Of what is stacked.
        axis : int, default=0
            Along which is cut and stacked.
        """
        part = Graph(self.name)
        part.domains = self.domains
        taken = [(self.name("taken"), kind, None) for _, kind in (*states, *inputs)]
        handed = [(self.name("handed"), kind, None) for _, kind in states]
        given = [*handed, (self.name("given"), *output)]
        made = body(part, *(name for name, *_ in taken))
        for (name, *_), value in zip(given, made, strict=True):
            part.add("Identity", value, output=name)
        graph = helper.make_graph(
            part.nodes,
            self.name("body"),
            [helper.make_tensor_value_info(*each) for each in taken],
            [helper.make_tensor_value_info(*each) for each in given],
            initializer=part.constants,
        )
        last = self.several(
            "Scan",
            *(name for name, _ in (*states, *inputs)),
            count=len(given),
            body=graph,
            num_scan_inputs=len(inputs),
            scan_input_axes=[axis] * len(inputs),
            scan_output_axes=[axis],
        )
        return last[-1]


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
