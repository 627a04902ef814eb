import { type IdList, isPacked } from '../worker-threads/packed-ids.ts';
import { type Topic, topicOf, USERS_TOPIC } from './change-topics.ts';
import { type Change, USERS_PER_CHANGE } from './changes.ts';

/** Changes that are stored together. */
interface StoredPart {
  /** A JSON array. */
  readonly text: string;
  readonly topic: Topic | null;
}

/**
 * The changes as they are stored, in order: no part names many more IDs than {@link USERS_PER_CHANGE}, and none has two topics.
 * The memberships that end with a user are not divided by group: they are found by the user.
 */
export function storedParts(changes: readonly Change[]): StoredPart[] {
  const parts: StoredPart[] = [];
  const isOneTopic = changes.at(-1)?.type === 'user.removed';
  let [pending, named, topic]: [Change[], number, Topic | null] = [[], 0, null];
  const end = () => {
    if (pending.length > 0) parts.push({ text: `[${pending.map(textOf).join(',')}]`, topic });
    [pending, named, topic] = [[], 0, null];
  };
  for (const change of changes) {
    const own = isOneTopic ? USERS_TOPIC : topicOf(change);
    if (own !== null && topic !== null && own !== topic) end();
    pending.push(change);
    topic = own ?? topic;
    named += 'users' in change ? countOf(change.users) : 1;
    if (named >= USERS_PER_CHANGE) end();
  }
  end();
  return parts;
}

const countOf = (users: IdList): number => (isPacked(users) ? users.count : users.length);

function textOf(change: Change): string {
  if (!('users' in change) || !isPacked(change.users)) return JSON.stringify(change);
  const { users, ...rest } = change;
  return `${JSON.stringify(rest).slice(0, -1)},"users":${Buffer.from(users.bytes).toString()}}`;
}
