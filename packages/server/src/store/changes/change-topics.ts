import { type Change, changesProfile } from './changes.ts';

/**
 * Under which name the record of a write is found without reading the others: by those who follow a group, users, or credentials.
 * A record has one topic at most. `topic` in postgres-changes.ts is the same rule.
 */
export type Topic = string;

/** What concerns the presence streams of a group: its status, its members who leave, durable locations. */
export const presenceTopic = (groupId: string): Topic => `g${groupId}`;

/** Threads and messages of a group. */
export const conversationTopic = (groupId: string): Topic => `c${groupId}`;

/**
 * Users of the project who were set deleted or active, were removed, or whose name or picture changed: that concerns all groups
 * of each of them.
 */
export const USERS_TOPIC: Topic = 'u';

/** The secret of the project and its access tokens: what ends the right to go on reading. */
export const CREDENTIALS_TOPIC: Topic = 'k';

/** The topic of a change; null where changes of its type have no follower. */
export function topicOf(change: Change): Topic | null {
  switch (change.type) {
    case 'user.deactivated':
    case 'user.activated':
    case 'user.removed':
      return USERS_TOPIC;
    case 'group.deactivated':
    case 'group.activated':
    case 'group.removed':
    case 'member.removed':
    case 'durable_presence.moved':
    case 'durable_presence.removed':
      return presenceTopic(change.group);
    case 'project.secret_rotated':
    case 'access_token.revoked':
      return CREDENTIALS_TOPIC;
    case 'user.updated':
      return changesProfile(change) ? USERS_TOPIC : null;
    default:
      return 'thread' in change ? conversationTopic(change.group) : null;
  }
}

/** The topic of the changes of one record. The memberships that end with a user are found by the user. */
export function topicOfRecord(changes: readonly Change[]): Topic | null {
  let found: Topic | null = null;
  for (const change of changes) {
    const topic = topicOf(change);
    if (topic === USERS_TOPIC) return topic;
    found ??= topic;
  }
  return found;
}
