-- Names each membership among all that a user ever has in the group, so that an ephemeral presence of an earlier one is told
-- apart. Memberships of before have 0; an insert gives a random number.
ALTER TABLE memberships ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 0;
