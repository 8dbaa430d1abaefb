// Command peers measures Onceward beside other queues, on one machine, in turn, each as durable as it can be told to be: what is answered
// is on disk. It is a module of its own, so that none of them enters Onceward's.
//
//	go run . -rounds 5
//
// Each round visits every peer once; of the rounds the median counts, with the least and the most beside it. CPU-seconds are for 10,000 jobs
// over every process that has a part in it: client, server, broker, database. A round in which other processes took more than a tenth of the machine
// is left out, and said so.
package main
