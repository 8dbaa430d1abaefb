UPDATE queues SET plain_turn = ? WHERE id = ?
