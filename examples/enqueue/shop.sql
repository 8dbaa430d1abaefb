-- A shop's order, its receipt to be sent by a worker, and the event for its customer's endpoints: one commit.
-- Beforehand: onceward migrate --store 'postgres://…/shop?search_path=onceward' --functions

CREATE TABLE orders (
  id    text PRIMARY KEY,
  total numeric NOT NULL
);

CREATE FUNCTION place_order(id text, total numeric) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO orders VALUES (place_order.id, place_order.total);
  PERFORM onceward.onceward_send('order.created', json_build_object('id', id, 'total', total), event_id => 'order-' || id);
  RETURN onceward.onceward_publish('receipts', json_build_object('order', id), 'receipt:' || id);
END $$;

-- Or by a trigger, so that no code can forget it:
CREATE FUNCTION order_cancelled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM onceward.onceward_publish('refunds', row_to_json(OLD), 'refund:' || OLD.id, message_group_id => OLD.id);
  RETURN OLD;
END $$;
CREATE TRIGGER order_cancelled AFTER DELETE ON orders FOR EACH ROW EXECUTE FUNCTION order_cancelled();
