import { type Topic, topicOf, topicOfRecord } from '../../store/changes/change-topics.ts';
import type { Change } from '../../store/changes/changes.ts';
import type { ChangeRecord } from '../../store/ports/changes.ts';
import { unpackIds } from '../../store/worker-threads/packed-ids.ts';
import type { Actor } from '../../store/write-context.ts';

/** What was recorded under one topic since the last reading. */
export class TopicChanges {
  /** Of the last record. */
  position = 0;
  /** Users who stopped being members, whose status changed, who were removed, or whose durable locations changed. */
  readonly users = new Set<string>();
  readonly activated = new Set<string>();
  /** Users whose name or picture changed. */
  readonly profiles = new Set<string>();
  /** The status of the group changed, or the group was removed. */
  isOfGroup = false;
  /** The group was removed; another one of its ID may be there already. */
  isGroupRemoved = false;
  /** Threads that changed, or whose messages did; but an append changes nothing that lists of threads show. */
  readonly threads = new Set<string>();
  /** Sessions whose access tokens were revoked. */
  readonly sessions = new Set<string>();
  /** The project has another secret. */
  isSecretRotated = false;
}

/** What these records have, by topic. */
export function changesByTopic(records: readonly ChangeRecord[]): Map<Topic, TopicChanges> {
  const byTopic = new Map<Topic, TopicChanges>();
  for (const { position, actor, changes } of records) {
    const topic = topicOfRecord(changes);
    if (topic === null) continue;
    const found = byTopic.get(topic) ?? new TopicChanges();
    byTopic.set(topic, found);
    found.position = Math.max(found.position, position);
    for (const change of changes) if (topicOf(change) === topic) collect(found, change, actor);
  }
  return byTopic;
}

function collect(found: TopicChanges, change: Change, actor: Actor): void {
  switch (change.type) {
    case 'member.removed':
      for (const id of unpackIds(change.users)) found.users.add(id);
      break;
    // Other fields have no topic.
    case 'user.updated':
      found.profiles.add(change.user);
      break;
    case 'user.activated':
      found.activated.add(change.user);
      found.users.add(change.user);
      break;
    case 'user.deactivated':
    case 'user.removed':
    case 'durable_presence.moved':
    case 'durable_presence.removed':
      found.users.add(change.user);
      break;
    case 'group.activated':
    case 'group.deactivated':
    case 'group.removed':
      found.isOfGroup = true;
      found.isGroupRemoved ||= change.type === 'group.removed';
      break;
    case 'project.secret_rotated':
      found.isSecretRotated = true;
      break;
    // An access token is revoked with itself.
    case 'access_token.revoked':
      found.sessions.add(actor.id as string);
      break;
    case 'message.appended':
      break;
    default:
      if ('thread' in change) found.threads.add(change.thread);
  }
}
