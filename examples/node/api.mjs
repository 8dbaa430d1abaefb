// The API of a service that makes exports. It answers POST /exports at once and hands the work to a queue. All that a request does is one publish, so the
// request's key is the publish's too: the same key again is the same message and the same answer, with another body it is refused.
import express from "express";
import { createHash } from "node:crypto";
import { call, OncewardError } from "./onceward.mjs";

await call("/v1/queue/create", { name: "exports" });

const app = express();
app.use(express.json({ limit: "100kb" }));

app.post("/exports", async (req, res) => {
  const key = req.get("Idempotency-Key");
  const format = req.body?.format;
  if (!key || typeof format !== "string") return res.status(400).json({ error: "send an Idempotency-Key, and JSON with a format" });
  const account = "acme"; // in yours: who the request's credentials prove. Keys of two accounts have nothing to do with each other.
  const id = createHash("sha256").update(JSON.stringify([account, "POST /exports", key])).digest("hex");
  try {
    await call("/v1/queue/publish", { queue: "exports", payload: { id, format } }, id);
    res.status(202).json({ export_id: id });
  } catch (err) {
    if (err instanceof OncewardError && err.code === "IDEMPOTENCY_KEY_REUSED") return res.status(409).json({ error: "the key came with another body before" });
    console.error(err);
    res.status(503).set("Retry-After", "1").json({ error: "the export could not be queued; send the request again under its key" });
  }
});

const [host, port] = (process.env.LISTEN ?? "127.0.0.1:3000").split(":");
const server = app.listen(Number(port), host, () => console.log(`listening on http://${host}:${server.address().port}`));
process.on("SIGTERM", () => {
  server.close(() => process.exit(0));
  setTimeout(() => server.closeAllConnections(), 5_000).unref(); // close alone waits for a client that has connected and asked nothing
});
