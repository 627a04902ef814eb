import { type Topic, topicOf, topicOfRecord } from '../store/change-topics.ts';
import type { Change } from '../store/changes.ts';
import { unpackIds } from '../store/packed-ids.ts';
import type { ChangeRecord } from '../store/ports/changes.ts';
import type { Actor } from '../store/write-context.ts';

/** What was recorded under one topic since the last reading. */
export class News {
  /** Of the last record. */
  position = 0;
  /** Users who stopped being members, whose status changed, who were removed, or whose durable locations changed. */
  readonly users = new Set<string>();
  /** Those of them who were set active. */
  readonly activated = new Set<string>();
  /** Users whose name or picture changed. */
  readonly profiles = new Set<string>();
  /** The status of the group changed, or the group was removed. */
  isOfGroup = false;
  /** Threads that changed, or whose messages did; but an append changes nothing that lists of threads show. */
  readonly threads = new Set<string>();
  /** Sessions whose access tokens were revoked. */
  readonly sessions = new Set<string>();
  /** The project has another secret. */
  isSecretRotated = false;
}

/** The news of records, by topic. */
export function newsOf(records: readonly ChangeRecord[]): Map<Topic, News> {
  const found = new Map<Topic, News>();
  for (const { position, actor, changes } of records) {
    const topic = topicOfRecord(changes);
    if (topic === null) continue;
    const news = found.get(topic) ?? new News();
    found.set(topic, news);
    news.position = Math.max(news.position, position);
    for (const change of changes) if (topicOf(change) === topic) collect(news, change, actor);
  }
  return found;
}

function collect(news: News, change: Change, actor: Actor): void {
  switch (change.type) {
    case 'member.removed':
      for (const id of unpackIds(change.users)) news.users.add(id);
      break;
    // Other fields have no topic.
    case 'user.updated':
      news.profiles.add(change.user);
      break;
    case 'user.activated':
      news.activated.add(change.user);
      news.users.add(change.user);
      break;
    case 'user.deactivated':
    case 'user.removed':
    case 'durable_presence.moved':
    case 'durable_presence.removed':
      news.users.add(change.user);
      break;
    case 'group.activated':
    case 'group.deactivated':
    case 'group.removed':
      news.isOfGroup = true;
      break;
    case 'project.secret_rotated':
      news.isSecretRotated = true;
      break;
    // An access token is revoked with itself.
    case 'access_token.revoked':
      news.sessions.add(actor.id as string);
      break;
    case 'message.appended':
      break;
    default:
      if ('thread' in change) news.threads.add(change.thread);
  }
}
