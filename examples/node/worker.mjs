// The worker of a service that makes exports. The queue hands a job out at least once; the row of its key, written in one transaction with the export
// itself, lets it take effect once. (An effect outside of your database wants /v1/ledger: docs/http-api.md.)
import pg from "pg";
import { setTimeout as sleep } from "node:timers/promises";
import { call, OncewardError } from "./onceward.mjs";

const QUEUE = "exports", LEASE = 5, LANES = 4;
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: LANES });
await pool.query(`CREATE TABLE IF NOT EXISTS exports (id text NOT NULL, format text NOT NULL, made_at timestamptz NOT NULL DEFAULT now())`);
await pool.query(`CREATE TABLE IF NOT EXISTS jobs_done (key text PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT now())`);
await call("/v1/queue/create", { name: QUEUE }); // whoever comes first makes it

// once does the work of a key in a transaction. A second worker with the same key waits at the row, and then finds it done.
async function once(key, work) {
  const db = await pool.connect();
  try {
    await db.query("BEGIN");
    const { rowCount } = await db.query("INSERT INTO jobs_done (key) VALUES ($1) ON CONFLICT DO NOTHING", [key]);
    if (rowCount === 1) await work(db);
    await db.query("COMMIT");
    return rowCount === 1;
  } catch (err) {
    await db.query("ROLLBACK").catch(() => {});
    throw err;
  } finally {
    db.release();
  }
}

async function makeExport(db, job) {
  console.log("begun", job.id);
  await sleep(200); // the slow part
  await db.query("INSERT INTO exports (id, format) VALUES ($1, $2)", [job.id, job.format]);
}

async function handle(message) {
  const about = { queue: QUEUE, receipt_handle: message.receipt_handle };
  const heartbeat = setInterval(() => call("/v1/queue/extend", { ...about, visibility_timeout: LEASE }).catch(() => {}), (LEASE * 1000) / 3);
  let failed;
  try {
    const job = message.payload;
    const first = await once(`export:${job.id}`, (db) => makeExport(db, job));
    console.log(first ? "done" : "known", job.id);
  } catch (err) {
    console.error(failed = err);
  } finally {
    clearInterval(heartbeat);
  }
  // That the ack fails is no failure of the work: it is done, and a copy that comes again is known.
  if (failed) await call("/v1/queue/nack", { ...about, error: String(failed.message) });
  else await call("/v1/queue/ack", about);
}

let stopping = false;
process.on("SIGTERM", () => (stopping = true));

async function lane() {
  while (!stopping) {
    try {
      const { items } = await call("/v1/queue/consume", { queue: QUEUE, max_messages: 1, visibility_timeout: LEASE, wait_seconds: 5 });
      for (const message of items) await handle(message);
    } catch (err) {
      if (err instanceof OncewardError && err.code === "QUEUE_MESSAGE_NOT_FOUND") continue; // acked before, by a call whose answer was lost
      console.error(err);
      await sleep(1000);
    }
  }
}

console.log("working");
await Promise.all(Array.from({ length: LANES }, lane));
await pool.end();
