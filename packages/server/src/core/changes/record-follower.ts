import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Repeated } from '../../concurrency/repeated.ts';
import type { Topic } from '../../store/changes/change-topics.ts';
import { type ChangeReading, TOPICS_AT_ONCE } from '../../store/ports/changes.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import type { Clock } from '../clock.ts';
import { addByTopic, type TopicChanges } from './topic-changes.ts';

/** How often the record is read, in milliseconds: within this time a process has what was recorded through any other. */
const INTERVAL_MS = 1_000;
const RECORDS_AT_ONCE = 500;
/** Most records that are read at once. With more, whatever follows the project is read anew: that costs less. */
const RECORDS_MAX = 5_000;
/** How many listeners are called in one event-loop tick. */
const CALLED_AT_ONCE = 100;

interface Parts {
  readonly store: Pick<Store, 'changes'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Follows topics of a project's record. Neither function may throw. */
export interface RecordListener {
  /** What was recorded under one of the topics. It can be called again with what it has had. */
  onChanges(topic: Topic, found: TopicChanges): void;
  /**
   * Records may have been missed: they or the project were removed, they were too many, or the store came back older. Whether the
   * project is there.
   */
  onGap(projectExists: boolean): void;
}

type ReadTo = Pick<ChangeReading, 'epoch' | 'newest' | 'projectExists'>;

interface Followed {
  readonly listeners: Map<Topic, Set<RecordListener>>;
  /** Up to which position the record was read; null before the first reading. */
  read: ReadTo | null;
  /** Whether the store was away at the last reading. */
  isAway: boolean;
  /** Reads the project: one reading at a time. */
  readonly reading: Repeated;
}

/**
 * Reads what was recorded under the topics that this process follows: once a second, from where it was, with one statement for
 * {@link TOPICS_AT_ONCE} topics of a project; never the records besides. So nothing that a write has committed is missed,
 * whatever became of the process that wrote and of its messages.
 */
export class RecordFollower {
  readonly #parts: Parts;
  readonly #followed = new Map<ProjectKey, Followed>();
  readonly #pass = new Repeated(() => this.#readAll());
  readonly #stop: () => void;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#stop = parts.clock.every(INTERVAL_MS, () => {
      if (this.#followed.size > 0) void this.#pass.request();
    });
  }

  close(): void {
    this.#stop();
    this.#followed.clear();
  }

  /** Calls the listener from now on, until the returned function is called. What is recorded from {@link begun} on is complete. */
  follow(project: ProjectKey, topics: readonly Topic[], listener: RecordListener): () => void {
    const followed = this.#followed.get(project) ?? this.#begin(project);
    this.#followed.set(project, followed);
    for (const topic of topics) {
      const ofTopic = followed.listeners.get(topic) ?? new Set();
      followed.listeners.set(topic, ofTopic.add(listener));
    }
    return () => {
      for (const topic of topics) {
        const ofTopic = followed.listeners.get(topic);
        ofTopic?.delete(listener);
        if (ofTopic?.size === 0) followed.listeners.delete(topic);
      }
      if (followed.listeners.size === 0 && this.#followed.get(project) === followed)
        this.#followed.delete(project);
    };
  }

  /**
   * Call it after {@link follow}. Once it has resolved, the listener gets everything that is committed from then on, so what is
   * read of the Store afterwards stays complete. @throws StoreUnavailableError
   */
  async begun(project: ProjectKey): Promise<void> {
    const followed = this.#followed.get(project);
    await followed?.reading.request();
    if (followed?.read === null) throw new StoreUnavailableError('the record of changes cannot be read');
  }

  /** The newest position of a project's record when it was read last; 0 where it was not read. */
  newest(project: ProjectKey): number {
    return this.#followed.get(project)?.read?.newest ?? 0;
  }

  #begin(project: ProjectKey): Followed {
    const followed: Followed = {
      listeners: new Map(),
      read: null,
      isAway: false,
      reading: new Repeated(() => this.#read(project, followed)),
    };
    return followed;
  }

  async #readAll(): Promise<void> {
    for (const [project, followed] of this.#followed) {
      await followed.reading.request();
      if (!followed.isAway) continue;
      // The next pass continues from the same positions, and with this project last: it may be away for this one alone.
      if (this.#followed.get(project) === followed) {
        this.#followed.delete(project);
        this.#followed.set(project, followed);
      }
      return;
    }
  }

  async #read(project: ProjectKey, followed: Followed): Promise<void> {
    followed.isAway = false;
    try {
      await this.#readProject(project, followed);
    } catch (err) {
      followed.isAway = err instanceof StoreUnavailableError;
      if (!followed.isAway)
        this.#parts.log.error(
          { err },
          'the record of changes could not be read; the next read continues from the same position',
        );
    }
  }

  async #readProject(project: ProjectKey, followed: Followed): Promise<void> {
    const { read } = followed;
    const topics = [...followed.listeners.keys()];
    const found = read === null ? null : await this.#readFrom(project, topics, read);
    if (found !== null) {
      followed.read = { ...(read as ReadTo), newest: found.newest };
      await this.#notify(followed, found.byTopic);
      return;
    }
    const current = await this.#parts.store.changes.read(project, 0, 0);
    followed.read = current;
    if (read === null) return;
    for (const listener of new Set([...followed.listeners.values()].flatMap((all) => [...all])))
      listener.onGap(current.projectExists);
  }

  /** What these topics have after a position, and up to where nothing is missing; null where records may be missing. */
  async #readFrom(
    project: ProjectKey,
    topics: readonly Topic[],
    from: ReadTo,
  ): Promise<{ newest: number; byTopic: ReadonlyMap<Topic, TopicChanges> } | null> {
    const byTopic = new Map<Topic, TopicChanges>();
    let records = 0;
    let newest = Number.POSITIVE_INFINITY;
    for (const some of slices(topics, TOPICS_AT_ONCE)) {
      for (let after = from.newest; ; ) {
        const reading = await this.#parts.store.changes.readTopics(project, some, after, RECORDS_AT_ONCE);
        const isGap =
          reading.epoch !== from.epoch || reading.removedTo > from.newest || reading.newest < from.newest;
        const isRemoved = from.projectExists && !reading.projectExists;
        if (isGap || isRemoved || records > RECORDS_MAX) return null;
        records += reading.records.length;
        addByTopic(byTopic, reading.records);
        // The embedded store answers within the tick.
        await nextIteration();
        const last = reading.records.at(-1);
        if (last === undefined) {
          // All of these topics up to the newest position of this reading were read.
          newest = Math.min(newest, reading.newest);
          break;
        }
        after = last.position;
      }
    }
    return { newest, byTopic };
  }

  async #notify({ listeners }: Followed, found: ReadonlyMap<Topic, TopicChanges>): Promise<void> {
    for (const [topic, own] of found) {
      for (const some of slices([...(listeners.get(topic) ?? [])], CALLED_AT_ONCE)) {
        for (const listener of some) listener.onChanges(topic, own);
        await nextIteration();
      }
    }
  }
}
