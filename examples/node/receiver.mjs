// A receiver of webhooks: it believes what is signed, and lets each delivery take effect once, in one transaction with the effect.
import { createServer } from "node:http";
import { createHmac, timingSafeEqual } from "node:crypto";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query(`CREATE TABLE IF NOT EXISTS received (event_id text NOT NULL, payload text NOT NULL)`);
await pool.query(`CREATE TABLE IF NOT EXISTS deliveries_done (key text PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT now())`);

// verify is Standard Webhooks v1. body: the request's bytes, not parsed.
function verify(headers, body, secret) {
  const id = headers["webhook-id"], at = headers["webhook-timestamp"], given = headers["webhook-signature"];
  if (!id || !given || !(Math.abs(Date.now() / 1000 - Number(at)) <= 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const want = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest();
  return given.split(" ").some((s) => {
    const sum = s.startsWith("v1,") ? Buffer.from(s.slice(3), "base64") : Buffer.alloc(0);
    return sum.length === want.length && timingSafeEqual(sum, want);
  });
}

async function take(key, eventID, body) {
  const db = await pool.connect();
  try {
    await db.query("BEGIN");
    const { rowCount } = await db.query("INSERT INTO deliveries_done (key) VALUES ($1) ON CONFLICT DO NOTHING", [key]);
    if (rowCount === 1) await db.query("INSERT INTO received (event_id, payload) VALUES ($1, $2)", [eventID, body.toString("utf8")]);
    await db.query("COMMIT");
  } catch (err) {
    await db.query("ROLLBACK").catch(() => {});
    throw err;
  } finally {
    db.release();
  }
}

const server = createServer(async (req, res) => {
  const end = (status) => res.writeHead(status).end();
  try {
    const parts = [];
    let size = 0;
    for await (const part of req) {
      if ((size += part.length) > 1 << 20) return end(413);
      parts.push(part);
    }
    const body = Buffer.concat(parts);
    if (!verify(req.headers, body, process.env.WEBHOOK_SECRET)) return end(401);
    await take(req.headers["idempotency-key"] ?? req.headers["webhook-id"], req.headers["webhook-id"], body);
    end(204);
  } catch (err) {
    console.error(err);
    end(503); // undone: the sender tries again
  }
});

const [host, port] = (process.env.LISTEN ?? "127.0.0.1:8099").split(":");
server.listen(Number(port), host, () => console.log(`listening on http://${host}:${server.address().port}`));
