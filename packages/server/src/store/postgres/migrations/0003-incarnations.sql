-- Names each membership among all that a user ever has in the group, so that an ephemeral presence of an earlier one is told
-- apart. Memberships of before have 0. The default also serves processes of the version before, which do not name the column.
ALTER TABLE memberships ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memberships ALTER COLUMN incarnation SET DEFAULT floor(random() * 2147483648)::integer;
