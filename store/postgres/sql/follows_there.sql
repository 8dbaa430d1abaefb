-- whether messages have to follow their keys
SELECT EXISTS (SELECT 1 FROM follows)
