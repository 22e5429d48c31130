"""A decision and its loss by the light client: python decide.py http://127.0.0.1:8080 [TOKEN]"""

import sys

import holdfast_client

url, token = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
made = {"policy": "adaptive", "arms": ["blue", "green"], "switching_cost": 0.3}
with holdfast_client.open(url, "example-python", token=token, **made) as game:
    decision = game.ask()
    print("use", decision.arm)
    print(game.tell(decision.id, loss=0.12))
