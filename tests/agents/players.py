"""A program that plays, well or badly: ``python players.py KIND``; it imports nothing of ours."""

from __future__ import annotations

import json
import sys
import time


def main(kind: str) -> None:
    hello = json.loads(sys.stdin.readline())
    assert hello["type"] == "hello" and hello["schema"] == 1 and len(hello["actions"]) == 149
    if kind == "no start":
        sys.exit("cannot load the model")
    if kind == "silent":
        time.sleep(60)
    print(json.dumps({"name": kind}), flush=True)
    for number, text in enumerate(sys.stdin):
        line = json.loads(text)
        answer = json.dumps({"action": line["legal"][-1]})
        if kind == "drawer":
            answer = json.dumps({"action": line["legal"][line["random"] % len(line["legal"])]})
        if kind == "crashing" and number == 20:
            print("out of luck", file=sys.stderr)
            sys.exit(3)
        if kind == "slow" and number == 20:
            time.sleep(60)
        if kind == "illegal" and line["phase"] == "PLAY" and len(line["hand"]) == 5:
            missing = [card for card in ("AS", "KH", "2C", "7D") if card not in line["hand"]]
            answer = json.dumps({"action": missing[0]})
        if kind == "garbage" and number % 30 == 29:
            answer = "[1, 2" if number % 60 == 29 else '{"action": 7}'
        if kind == "twice" and number == 20:
            answer = answer + "\n" + answer
        if kind == "long" and number == 20:
            answer = "x" * 200_000
        print(answer, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
