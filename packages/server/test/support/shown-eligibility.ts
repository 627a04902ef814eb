import type { Eligibility } from '../../src/store/ports/eligibility.ts';

/** An eligibility without the incarnation, which each engine chooses. */
export const shown = ({ user, group, incarnation }: Eligibility) => ({
  user,
  group,
  member: incarnation !== null,
});
