import {
  Findings,
  isJsonObject,
  limits,
  type PresenceRefusal,
  type PresenceUpdate,
} from '@rollcall/protocol';
import { type ProjectKey, StoreUnavailableError } from '../store/store.ts';
import { addMisfit } from './findings-error.ts';
import { inspectPresence, type PresenceService } from './presence-service.ts';

/** What became of many updates. */
export interface UpdatesApplied {
  readonly updated: number;
  /** In order of the list. */
  readonly refused: readonly PresenceRefusal[];
}

/** An engine failed on the way: which of the updates were applied is not known. */
export class PartlyAppliedError extends StoreUnavailableError {}

/**
 * Applies each update on its own, those of one user in one group in their order.
 * @throws PartlyAppliedError
 */
export async function applyPresenceUpdates(
  presence: PresenceService,
  project: ProjectKey,
  updates: readonly PresenceUpdate[],
): Promise<UpdatesApplied> {
  const writes = updates.map(({ userID: userId, ...write }) => ({ userId, write }));
  const outcomes = await presence.putMany(project, writes).catch(asPartlyApplied);
  const refused = outcomes.flatMap((refusal, index): PresenceRefusal[] => {
    if (refusal === null) return [];
    const { userID } = updates[index] as PresenceUpdate;
    return [{ index, userID, error: refusal.code, message: refusal.message }];
  });
  return { updated: updates.length - refused.length, refused };
}

function asPartlyApplied(error: unknown): never {
  if (!(error instanceof StoreUnavailableError)) throw error;
  throw new PartlyAppliedError(error.message, { cause: error });
}

/** What the fields of each update require of each other. Takes whatever arrived, like {@link inspectPresence}. */
export function inspectPresenceUpdates({ updates }: { updates?: unknown }, findings: Findings): void {
  // A list that is too long is refused as one: it may have millions of updates.
  if (!Array.isArray(updates) || updates.length > limits.PRESENCE_UPDATES_MAX) return;
  for (const [index, update] of updates.entries()) {
    if (!isJsonObject(update)) continue;
    const found = new Findings();
    inspectPresence(update, found);
    if (!found.clean) addMisfit(findings, found, (place) => `updates[${index}].${place}`);
  }
}
