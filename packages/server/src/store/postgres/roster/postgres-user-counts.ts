/** A user count has so many rows, and each write takes one of them: see the table. */
const COUNT_SLOTS = 16;
export const anyCountSlot = (): number => Math.floor(Math.random() * COUNT_SLOTS);

/** SQL that adds to numbers of users: `rows` selects projects, slots and by how many their users grow. */
export const countUsers = (rows: string) => `
  INSERT INTO user_counts (project_id, slot, users) ${rows}
  ON CONFLICT (project_id, slot) DO UPDATE SET users = user_counts.users + excluded.users`;

/** Adds $3 to the project's number of users, in slot $2. */
export const COUNT_USERS = countUsers('VALUES ($1, $2, $3)');
