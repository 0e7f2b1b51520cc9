"""What a developer asks in a day: edits, code, questions, structured text, and summaries of a given text."""

from __future__ import annotations

_AVERAGE = """\
def moving_average(values, size):
    if size <= 0:
        raise ValueError("size must be positive")
    result = []
    total = 0.0
    for index, value in enumerate(values):
        total += value
        if index >= size:
            total -= values[index - size]
        if index >= size - 1:
            result.append(total / size)
    return result"""

_INVENTORY = """\
class Inventory:
    def __init__(self):
        self.items = {}

    def add(self, name, count=1):
        self.items[name] = self.items.get(name, 0) + count

    def remove(self, name, count=1):
        if name not in self.items:
            raise KeyError(name)
        left = self.items[name] - count
        if left < 0:
            raise ValueError("not enough items")
        if left == 0:
            del self.items[name]
        else:
            self.items[name] = left

    def total(self):
        return sum(self.items.values())"""

_PARSER = """\
def read_settings(path):
    settings = {}
    f = open(path)
    for line in f.readlines():
        line = line.strip()
        if line == "" or line.startswith("#"):
            continue
        key, value = line.split("=", 1)
        settings[key.strip()] = value.strip()
    f.close()
    return settings"""

_REPORT = """\
SELECT c.name, COUNT(o.id) AS orders, SUM(o.total) AS revenue
FROM customers c
LEFT JOIN orders o ON o.customer_id = c.id
WHERE o.created_at >= '2025-01-01'
GROUP BY c.name
ORDER BY revenue DESC
LIMIT 20;"""

_FERRY = """\
The ferry between the two islands stopped at the end of September, two weeks earlier than planned. The council \
had hoped to run it until the middle of October, but repairs to the landing took longer than expected and the \
older of the two boats failed its inspection. Passengers who had bought season tickets will get a quarter of the \
price back. A bus now drives around the bay four times a day; it takes seventy minutes where the ferry took \
fifteen. Farmers on the smaller island say that the bus does not carry freight and that they lose a day each \
week. The council will decide in November whether to buy a used boat from the mainland or to repair the old one, \
which would cost about a third less but would not be ready before June."""

WORKING_DAY = {
    "edit": [
        f"Add type hints to this function.\n\n```python\n{_AVERAGE}\n```",
        f"Rename the attribute items to stock everywhere in this class.\n\n```python\n{_INVENTORY}\n```",
        f"Rewrite this so that a with statement closes the file. Change nothing else.\n\n```python\n{_PARSER}\n```",
        f"Only count orders of the year 2026 in this query, and show the 50 best customers.\n\n```sql\n{_REPORT}\n```",
    ],
    "code": [
        "Write a Python function that merges two sorted lists into one sorted list, with a docstring.",
        "Write a small command line tool in Python with argparse that counts the words in some text files.",
        "Write a JavaScript function that groups an array of objects by the value of a key.",
    ],
    "chat": [
        "What is the difference between a process and a thread?",
        "How do I learn to cook if I have only two pans and little time?",
        "Why do leaves change their colour in autumn?",
        "Give me some advice for my first job interview as a developer.",
    ],
    "structured": [
        "Write a JSON array of five invented books with the keys title, author, year and pages.",
        "Write a docker-compose file in YAML for a web application with a Postgres database and a Redis cache.",
    ],
    "summary": [
        f"Summarise this text in three sentences.\n\n{_FERRY}",
        f"List the facts of this text as bullet points, each as close to the original words as possible.\n\n{_FERRY}",
    ],
}
"""Requests by kind of text."""
