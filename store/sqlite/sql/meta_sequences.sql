SELECT name, value FROM meta WHERE name >= 'seq_' AND name < 'seq`'
