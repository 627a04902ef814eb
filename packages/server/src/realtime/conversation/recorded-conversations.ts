import type { Broker } from '../../broker/broker.ts';
import type { RecordFollower, RecordListener } from '../../core/changes/record-follower.ts';
import type { TopicChanges } from '../../core/changes/topic-changes.ts';
import {
  conversationTopic,
  presenceTopic,
  type Topic,
  USERS_TOPIC,
} from '../../store/changes/change-topics.ts';
import type { ProjectKey } from '../../values/project-key.ts';

interface Listener {
  onThreads(project: ProjectKey, groupId: string, threadIds: ReadonlySet<string>): void;
  /** Any of the group's threads may have changed. */
  onGap(project: ProjectKey, groupId: string): void;
  /** These users of the project, or with null all readers, may have lost access. */
  onAccess(project: ProjectKey, userIds: readonly string[] | null): void;
}

interface Group {
  readonly project: ProjectKey;
  readonly groupId: string;
}

interface Parts {
  readonly record: RecordFollower;
  readonly broker: Pick<Broker, 'follow'>;
}

/**
 * What the record of changes has of the groups whose threads or messages have readers: threads, and who may read. The Broker is
 * subscribed to the changes of these groups too; they come sooner, and can be lost.
 */
export class RecordedConversations {
  readonly #parts: Parts;
  readonly #listener: Listener;
  /** By project and group, and by project: the functions that end it. */
  readonly #followed = new Map<string, () => void>();

  constructor(parts: Parts, listener: Listener) {
    this.#parts = parts;
    this.#listener = listener;
  }

  /**
   * What is committed after it has resolved is reported, until {@link followOnly} does not name the group. @throws StoreUnavailableError
   */
  async follow({ project, groupId }: Group): Promise<void> {
    this.#add(
      keyOf(project, groupId),
      project,
      [conversationTopic(groupId), presenceTopic(groupId)],
      groupId,
    );
    this.#add(keyOf(project), project, [USERS_TOPIC], null);
    await this.#parts.record.begun(project);
  }

  /** Follows these groups and no others. Call it about once a second. */
  followOnly(groups: Iterable<Group>): void {
    const retained = new Set<string>();
    for (const { project, groupId } of groups) retained.add(keyOf(project, groupId)).add(keyOf(project));
    for (const [key, end] of this.#followed) {
      if (retained.has(key)) continue;
      end();
      this.#followed.delete(key);
    }
  }

  close(): void {
    this.followOnly([]);
  }

  #add(key: string, project: ProjectKey, topics: readonly Topic[], groupId: string | null): void {
    if (this.#followed.has(key)) return;
    const { onThreads, onGap, onAccess } = this.#listener;
    const listener: RecordListener = {
      onChanges(_topic: Topic, { threads, users, isOfGroup, isGroupRemoved }: TopicChanges) {
        // The threads that go with a group are not recorded one by one.
        if (groupId !== null && isGroupRemoved) onGap(project, groupId);
        else if (groupId !== null && threads.size > 0) onThreads(project, groupId, threads);
        if (isOfGroup || users.size > 0) onAccess(project, isOfGroup ? null : [...users]);
      },
      onGap() {
        if (groupId !== null) onGap(project, groupId);
        onAccess(project, null);
      },
    };
    const { record, broker } = this.#parts;
    const ends = [
      record.follow(project, topics, listener),
      broker.follow(
        groupId === null ? { type: 'eligibility', project } : { type: 'conversation', project, groupId },
      ),
    ];
    this.#followed.set(key, () => {
      for (const end of ends) end();
    });
  }
}

const keyOf = (project: ProjectKey, groupId: string | null = null) => JSON.stringify([project, groupId]);
