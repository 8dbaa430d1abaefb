SELECT queue FROM counts WHERE queue NOT IN (SELECT id FROM queues) LIMIT 1
