// Package bench measures Onceward. Its benchmarks run the whole program over real sockets and a durable store (fsync
// on, nothing answered before its commit), and report CPU-seconds for 10,000 over client, server, database and receiver: on a
// shared machine that figure is steadier than a rate. README.md says how to repeat each figure and what was measured.
package bench
