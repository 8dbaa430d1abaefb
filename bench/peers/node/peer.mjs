// Cases of one queue for Node.js: node peer.mjs NAME URL SETTINGS. It says "ready" when its queue is there, makes ("warm CASE") connections, then the case that a line names, and answers with
// a line of JSON: how many, in how many seconds, and the latencies in milliseconds. It ends when its input does.
import { createHistogram } from "node:perf_hooks"; // an HdrHistogram
import { createInterface } from "node:readline";

const [name, url, settings] = process.argv.slice(2);
const { jobs, seconds, callers, batch, size, rate, span_seconds: span } = JSON.parse(settings);

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
            for (const j of got) came(j.data.n);
            await boss.complete("bench", got.map((j) => j.id));
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

const now = () => performance.now();
const subject = await subjects[name]();

// closed has the callers make calls as fast as they are answered, until there were so many or the time is over.
async function closed(most, call) {
  const began = now();
  let next = 0;
  let n = 0;
  const one = async () => {
    while (next < most && now() - began < seconds * 1000) {
      const did = await call(next++); // n is read after that, not before
      n += did;
    }
  };
  await Promise.all(Array.from({ length: callers }, one));
  return { n, seconds: (now() - began) / 1000 };
}

// consumed works until n came or the time is over.
function consumed(n, within, each) {
  return new Promise((resolve, reject) => {
    const began = now();
    let count = 0;
    let last = 0;
    let stop;
    const end = async () => {
      clearTimeout(over);
      await (await stop)();
      resolve({ n: count, seconds: last / 1000 });
    };
    const over = setTimeout(end, within);
    stop = subject.consume((i) => {
      last = now() - began;
      each(i);
      if (++count === n) setImmediate(end);
    });
    stop.catch(reject);
  });
}

let filled = 0;
const cases = {
  async enqueue() {
    return closed(Infinity, async (i) => {
      await subject.enqueue(i);
      return 1;
    });
  },
  async batch() {
    const did = await closed(Math.ceil(jobs / batch), async (k) => {
      await subject.enqueueMany(k * batch, batch);
      return batch;
    });
    filled = did.n;
    return did;
  },
  work: () => consumed(filled, seconds * 1000, () => {}),
  async start() {
    const n = Math.max(1, Math.floor(rate * span));
    const latency = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
    const began = now() + 50;
    const due = (i) => began + (i / rate) * 1000;
    let count = 0;
    const all = new Promise((resolve) => {
      came = (i) => {
        latency.record(Math.max(1, Math.round((now() - due(i)) * 1000)));
        if (++count === n) resolve();
      };
    });
    let next = 0;
    const one = async () => {
      for (let i = next++; i < n; i = next++) {
        const wait = due(i) - now();
        if (wait > 0) await new Promise((r) => setTimeout(r, wait));
        await subject.enqueue(i);
      }
    };
    await Promise.all(Array.from({ length: callers }, one));
    await Promise.race([all, new Promise((_, reject) => setTimeout(() => reject(new Error(`${count} of ${n} came`)), 60_000))]);
    const ms = (q) => latency.percentile(q) / 1000;
    return { n, seconds: (now() - began) / 1000, p50: ms(50), p99: ms(99), p999: ms(99.9) };
  },
};

// warm makes connections, with messages whose numbers are below 0; where a case is about what comes, its consumer is there after it.
let came = () => {};
const warm = {
  enqueue: () => Promise.all(Array.from({ length: 200 }, (_, i) => subject.enqueue(-i - 1))),
  async start() {
    let early = 0;
    const all = new Promise((resolve) => {
      came = () => {
        if (++early === 200) resolve();
      };
    });
    await subject.consume((i) => came(i));
    await warm.enqueue();
    await all;
  },
};

console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [what, of] = line.split(" ");
  if (what === "warm") {
    await warm[of]?.();
    console.log("warm");
    continue;
  }
  console.log(JSON.stringify(await cases[what]()));
}
process.exit(0);
