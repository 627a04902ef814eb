import { type Topic, topicOf, topicOfRecord } from '../../store/changes/change-topics.ts';
import type { Change } from '../../store/changes/changes.ts';
import type { ChangeRecord } from '../../store/ports/changes.ts';
import { unpackIds } from '../../store/worker-threads/packed-ids.ts';
import type { Actor } from '../../store/write-context.ts';

/** Most members who left a group that are named. With more, all of the group may have changed: that is compared in less time. */
export const LEFT_MAX = 20_000;

/** What was recorded under one topic since the last reading. */
export class TopicChanges {
  /** Of the last record. */
  position = 0;
  /** Users who stopped being members, whose status changed, who were removed, or whose durable locations changed. */
  readonly users = new Set<string>();
  readonly activated = new Set<string>();
  /** Users whose name or picture changed. */
  readonly profiles = new Set<string>();
  /** The status of the group changed, the group was removed, or more than {@link LEFT_MAX} members left it. */
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

/** Adds what these records have, by topic. */
export function addByTopic(byTopic: Map<Topic, TopicChanges>, records: readonly ChangeRecord[]): void {
  for (const { position, actor, changes } of records) {
    const topic = topicOfRecord(changes);
    if (topic === null) continue;
    const found = byTopic.get(topic) ?? new TopicChanges();
    byTopic.set(topic, found);
    found.position = Math.max(found.position, position);
    for (const change of changes) if (topicOf(change) === topic) collect(found, change, actor);
  }
}

function collect(found: TopicChanges, change: Change, actor: Actor): void {
  switch (change.type) {
    case 'member.removed':
      if (found.users.size >= LEFT_MAX) found.isOfGroup = true;
      else for (const id of unpackIds(change.users)) found.users.add(id);
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
