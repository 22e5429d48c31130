// A decision and its loss by fetch: node decide.mjs http://127.0.0.1:8080 [TOKEN]
import { randomUUID } from "node:crypto";

const [url, token = "none"] = process.argv.slice(2);
const game = `${url}/v1/games/example-node`;

// Every request may be made again: asks have a key, and all others change nothing the second time.
async function send(method, path, body, attempts = 6) {
  const key = randomUUID();
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await fetch(game + path, {
        method,
        headers: { "content-type": "application/json", authorization: `Bearer ${token}`, "idempotency-key": key },
        body: body && JSON.stringify(body),
      });
      if (answer.ok) return await answer.json();
      if (![429, 502, 503, 504].includes(answer.status)) {
        const problem = await answer.json();
        throw Object.assign(new Error(problem.detail), { problem });
      }
    } catch (error) {
      if (error.problem) throw error;
      if (attempt === attempts) throw error;
    }
    await new Promise((done) => setTimeout(done, 50 * 2 ** attempt));
  }
}

await send("PUT", "", { policy: "adaptive", arms: ["blue", "green"], switching_cost: 0.3 });
const { decisions, why } = await send("POST", "/decisions", { n: 1 });
console.log(`use ${decisions[0].arm}: ${why}`);
console.log(await send("PUT", `/decisions/${decisions[0].id}/loss`, { loss: 0.12 }));
