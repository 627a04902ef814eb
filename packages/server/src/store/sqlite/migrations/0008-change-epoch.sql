-- Distinguishes the positions of changes in this store from those of every other: a restored store has another one.
INSERT INTO store_secrets (name, value) VALUES ('change_epoch', randomblob(8));
