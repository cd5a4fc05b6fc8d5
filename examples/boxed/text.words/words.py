"""Counts words; shows the contract of a packaged tool in plain Python, without a library."""

import json
import os
import re
import sys
from collections import Counter

request = json.load(sys.stdin)
args = request["args"]

found = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", args["text"].casefold())
words = [word for word in found if len(word) >= args.get("min_length", 1)]
counts = Counter(words)

with os.fdopen(4, "w", encoding="utf-8") as events:
    print(json.dumps({"log": f"{len(found)} words, {len(words)} of them long enough"}), file=events)

# Most frequent first, and in the order of the alphabet where two are as frequent: the same text has one answer.
ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[: args.get("top", 5)]
result = {
    "words": len(words),
    "distinct": len(counts),
    "top": [{"word": word, "count": count} for word, count in ranked],
}
with os.fdopen(3, "w", encoding="utf-8") as answer:
    json.dump(result, answer, ensure_ascii=False)
