// Calls Onceward over HTTP. What may have been done is sent again under the same key: on 429, on 5xx and where no answer came; never on another 4xx.
import { setTimeout as sleep } from "node:timers/promises";

const url = process.env.ONCEWARD_URL ?? "http://127.0.0.1:6623";

export class OncewardError extends Error {
  constructor(status, { code, message, hint }) {
    super(`${message} (${code})${hint ? `: ${hint}` : ""}`);
    Object.assign(this, { status, code });
  }
}

export async function call(path, body, key) {
  const headers = { authorization: `Bearer ${process.env.ONCEWARD_API_KEY}`, "content-type": "application/json" };
  if (key) headers["idempotency-key"] = key;
  for (let attempt = 1; ; attempt++) {
    let wait = 100 * 2 ** attempt * (0.5 + Math.random());
    try {
      const res = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(60_000) });
      const answer = await res.json();
      if (res.ok) return answer.data;
      if ((res.status !== 429 && res.status < 500) || attempt >= 6) throw new OncewardError(res.status, answer.error);
      wait = Math.min(60, Number(res.headers.get("retry-after")) || 0) * 1000 || wait;
    } catch (err) {
      if (err instanceof OncewardError || attempt >= 6) throw err;
    }
    await sleep(wait);
  }
}
