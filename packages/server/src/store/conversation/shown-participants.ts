/** The participants that a thread shows, as JSON: the most recent first, then by descending ID. */
import { compareCodePoints, limits } from '@rollcall/protocol';
import type { Participant } from '../ports/threads.ts';

type Shown = [userId: string, lastSeenAt: number];

export const toParticipants = (json: string): Participant[] =>
  (JSON.parse(json) as Shown[]).map(([userId, lastSeenAt]) => ({ userId, lastSeenAt }));

/** The latest time up to which a user has seen the thread; null where it has no participants. */
export const latestSeen = (json: string): number | null => toParticipants(json)[0]?.lastSeenAt ?? null;

/**
 * The JSON after a user has seen the thread up to a later time than before. No time goes back and no participant leaves, so
 * those who are not among the most recent any more are not needed to know the next ones.
 */
export function seenBy(json: string, userId: string, at: number): string {
  const shown = (JSON.parse(json) as Shown[]).filter(([id]) => id !== userId);
  const isBefore = ([id, time]: Shown) => time > at || (time === at && compareCodePoints(id, userId) > 0);
  const index = shown.findLastIndex(isBefore) + 1;
  return JSON.stringify(shown.toSpliced(index, 0, [userId, at]).slice(0, limits.PARTICIPANTS_SHOWN));
}
