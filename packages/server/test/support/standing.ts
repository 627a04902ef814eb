import type { Standing } from '../../src/store/store.ts';

/** A standing without the number of the membership, which an engine chooses. */
export const shown = ({ user, group, incarnation }: Standing) => ({
  user,
  group,
  member: incarnation !== null,
});
