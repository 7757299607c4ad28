"""The page docs/python.md: its examples run from top to bottom, and give what their comments say."""

from __future__ import annotations

import pathlib
import re
import unittest

from support import InFolder

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"


class Tutorial(InFolder):
    def test_the_page(self) -> None:
        blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        self.assertGreater(len(blocks), 5)
        names: dict[str, object] = {}
        for number, block in enumerate(blocks):
            with self.subTest(number):
                for statement, expected in statements(block):
                    if expected is None:
                        exec(compile(statement, str(PAGE), "exec"), names)
                    else:
                        self.assertEqual(repr(eval(compile(statement, str(PAGE), "eval"), names)), expected, statement)


def statements(block: str) -> list[tuple[str, str | None]]:
    """The statements of a block, with the value that the comment after ``# ->`` promises."""
    found: list[tuple[str, str | None]] = []
    code: list[str] = []
    for line in block.splitlines():
        before, arrow, after = line.partition("  # -> ")
        if arrow:
            if code:
                found.append(("\n".join(code), None))
                code = []
            found.append((before.strip(), after.strip()))
        else:
            code.append(line)
    if code:
        found.append(("\n".join(code), None))
    return found


if __name__ == "__main__":
    unittest.main()
