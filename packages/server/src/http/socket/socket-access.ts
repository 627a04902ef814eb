import { setImmediate as nextIteration } from 'node:timers/promises';
import { clientAccessError } from '../../core/client-access.ts';
import { userError } from '../../core/errors.ts';
import { slices } from '../../core/slices.ts';
import type { Eligibility } from '../../store/ports/eligibility.ts';
import type { Store } from '../../store/store.ts';
import type { ClientSocket } from './client-socket.ts';

/** Most users whose eligibility is read in one statement. */
const READ_MAX = 1_000;
/** No group has this ID: of a socket that acts in no group, the user alone is read. */
const NO_GROUP = '';

/** Ends, of these sockets, what their users may no longer have: a group, or all of it. Costs a read for each 1,000 groups. */
export async function endSocketsWithoutAccess(
  store: Pick<Store, 'eligibility'>,
  sockets: readonly ClientSocket[],
): Promise<void> {
  const open = sockets.filter(({ ending }) => ending === null);
  for (const [project, own] of Map.groupBy(open, ({ request }) => request.caller.project)) {
    const queries = own.flatMap((socket) => {
      const groupIds = [...socket.groupIds];
      const userId = socket.request.viewer?.userId as string;
      return (groupIds.length > 0 ? groupIds : [NO_GROUP]).map((groupId) => ({ socket, groupId, userId }));
    });
    for (const some of slices(queries, READ_MAX)) {
      const found = await store.eligibility.findMany(project, some);
      for (const [index, { socket, groupId, userId }] of some.entries()) {
        const eligibility = found[index] as Eligibility;
        const error =
          groupId === NO_GROUP
            ? userError(userId, eligibility.user)
            : clientAccessError(eligibility, groupId, userId);
        if (error !== null) socket.loseGroup(groupId, error);
      }
      // The embedded store answers within the tick.
      await nextIteration();
    }
  }
}
