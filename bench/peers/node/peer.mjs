// One case of one queue for Node.js: node peer.mjs NAME URL CASE SETTINGS. It says "ready" when its queue is there (and filled, where the case is to work it
// off), begins when a line comes in, and answers with a line of JSON: how many, and the latencies in milliseconds. It ends when its input does.
import { createInterface } from "node:readline";

const [name, url, what, settings] = process.argv.slice(2);
const { jobs, callers, batch, size, rate, span } = JSON.parse(settings); // span in seconds

const words = "lorem ipsum dolor sit amet, ";
const filler = words.repeat(size / words.length + 1).slice(0, Math.max(0, size - 24));
const body = (n) => ({ n, text: filler });

const subjects = {
  async bullmq() {
    const { Queue, Worker } = await import("bullmq");
    const { default: Redis } = await import("ioredis");
    const connect = () => new Redis(url, { maxRetriesPerRequest: null });
    const queue = new Queue("bench", { connection: connect() });
    return {
      enqueue: (n) => queue.add("bench", body(n), { removeOnComplete: true }),
      enqueueMany: (from, n) =>
        queue.addBulk(Array.from({ length: n }, (_, i) => ({ name: "bench", data: body(from + i), opts: { removeOnComplete: true } }))),
      async consume(came) {
        const worker = new Worker("bench", async (job) => came(job.data.n), { connection: connect(), concurrency: 100 });
        return () => worker.close();
      },
    };
  },

  async "graphile-worker"() {
    const { makeWorkerUtils, run, Logger } = await import("graphile-worker");
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({ connectionString: url, max: 64 });
    pool.on("error", (e) => console.error(e));
    pool.on("connect", (c) => c.on("error", (e) => console.error(e)));
    const logger = new Logger(() => () => {});
    const utils = await makeWorkerUtils({ pgPool: pool, logger });
    await utils.migrate();
    return {
      enqueue: (n) => utils.addJob("bench", body(n)),
      enqueueMany: (from, n) => utils.addJobs(Array.from({ length: n }, (_, i) => ({ identifier: "bench", payload: body(from + i) }))),
      async consume(came) {
        const runner = await run({
          pgPool: pool, logger, concurrency: 100, noHandleSignals: true,
          taskList: { bench: async (job) => came(job.n) },
          preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
        });
        return () => runner.stop();
      },
    };
  },

  async "pg-boss"() {
    const { default: PgBoss } = await import("pg-boss");
    const boss = new PgBoss({ connectionString: url, max: 64 });
    boss.on("error", (e) => console.error(e));
    await boss.start();
    await boss.createQueue("bench");
    return {
      enqueue: (n) => boss.send("bench", body(n)),
      enqueueMany: (from, n) => boss.insert(Array.from({ length: n }, (_, i) => ({ name: "bench", data: body(from + i) }))),
      async consume(came) {
        let going = true;
        const loops = Array.from({ length: 4 }, async () => {
          while (going) {
            const got = await boss.fetch("bench", { batchSize: 1000 });
            if (got.length === 0) {
              await new Promise((r) => setTimeout(r, 10));
              continue;
            }
            await boss.complete("bench", got.map((j) => j.id));
            for (const j of got) came(j.data.n);
          }
        });
        return () => {
          going = false;
          return Promise.all(loops);
        };
      },
    };
  },
};

const latencies = [];
const took = (ms) => latencies.push(ms);
const quantile = (q) => latencies[Math.min(latencies.length - 1, Math.floor((latencies.length * q) / 100))] ?? 0;

// share has the callers make n calls between them.
async function share(n, call) {
  let next = 0;
  const one = async () => {
    for (let i = next++; i < n; i = next++) await call(i);
  };
  await Promise.all(Array.from({ length: callers }, one));
}

async function timed(call) {
  const began = performance.now();
  await call();
  took(performance.now() - began);
}

const subject = await subjects[name]();
const fill = (measure) =>
  share(Math.ceil(jobs / batch), (k) => measure(() => subject.enqueueMany(k * batch, Math.min(batch, jobs - k * batch))));

const cases = {
  enqueue: () => share(jobs, (i) => timed(() => subject.enqueue(i))),
  batch: () => fill(timed),
  work: () => consumed(jobs, () => {}),
  async start() {
    const n = Math.floor(rate * span);
    const began = performance.now() + 500;
    const due = (i) => began + (i / rate) * 1000;
    const all = consumed(n, (i) => took(performance.now() - due(i)));
    await share(n, async (i) => {
      const wait = due(i) - performance.now();
      if (wait > 0) await new Promise((r) => setTimeout(r, wait));
      await subject.enqueue(i);
    });
    await all;
  },
};

// consumed works until n came.
function consumed(n, each) {
  return new Promise((resolve, reject) => {
    let count = 0;
    let stop;
    subject
      .consume((i) => {
        each(i);
        if (++count === n) setImmediate(async () => resolve(await (await stop)()));
      })
      .then((s) => (stop = Promise.resolve(s)), reject);
  });
}

if (what === "work") await fill((call) => call());
if (what === "enqueue") for (let i = 0; i < 200; i++) await subject.enqueue(-i - 1);
console.log("ready");
for await (const _ of createInterface({ input: process.stdin })) {
  await cases[what]();
  latencies.sort((a, b) => a - b);
  console.log(JSON.stringify({ n: what === "start" ? Math.floor(rate * span) : jobs, p50: quantile(50), p99: quantile(99), p999: quantile(99.9) }));
}
process.exit(0);
