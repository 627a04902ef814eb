import type { Logger } from 'pino';
import type { Broker, Notification } from '../../broker/broker.ts';
import { ProjectsInUse } from '../../broker/projects-in-use.ts';
import { Repeated } from '../../concurrency/repeated.ts';
import type { ChangeFeed } from '../../core/changes/change-feed.ts';
import type { ChangeFilter } from '../../core/changes/change-filter.ts';
import type { ChangePosition } from '../../core/changes/change-position.ts';
import type { RecordFollower } from '../../core/changes/record-follower.ts';
import type { Clock } from '../../core/clock.ts';
import type { Store } from '../../store/store.ts';
import type { EventSession } from '../sessions/event-session.ts';
import { OpenStreams } from '../sessions/open-streams.ts';
import type { SessionRequest } from '../sessions/stream-request.ts';
import { ChangeReader } from './change-reader.ts';

interface Parts {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly broker: Broker;
  readonly record: RecordFollower;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * All streams of changes of this process. A notification makes the readers of a project read on; because one can be lost, the
 * newest position of each project that has readers is also read once a second.
 */
export class ChangeHub {
  readonly #parts: Parts;
  readonly #readers = new Set<ChangeReader>();
  readonly #streams: OpenStreams<EventSession>;
  readonly #projects: ProjectsInUse;
  readonly #poll = new Repeated(() => this.#readNewest());

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#streams = new OpenStreams(parts, {
      tick: () => this.#tick(),
      heartbeat: () => {
        for (const reader of this.#readers) reader.heartbeat();
      },
      onChange: (change) => this.#onChange(change),
    });
    this.#projects = new ProjectsInUse(parts.broker, 'changes');
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Adds a reader from a position, or from the oldest change where it is null. @throws ServiceError 410 */
  async open(
    request: SessionRequest,
    from: ChangePosition | null,
    filter: ChangeFilter,
  ): Promise<EventSession> {
    this.#projects.use(request.caller.project);
    const position = await this.#parts.changes.begin(request.caller.project, from);
    this.#streams.requireOpen();
    const { changes, log } = this.#parts;
    const reader = new ChangeReader(request, position, filter, {
      feed: changes,
      log,
      ended: () => this.#ended(reader),
    });
    this.#readers.add(reader);
    this.#streams.add(reader.session);
    return reader.session;
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#streams.stop();
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.#streams.close();
    this.#projects.close();
    void this.#poll.close();
  }

  #ended(reader: ChangeReader): void {
    this.#readers.delete(reader);
    this.#streams.ended(reader.session);
  }

  #tick(): void {
    for (const { request } of this.#streams) this.#projects.use(request.caller.project);
    this.#projects.tick();
    void this.#poll.request();
  }

  async #readNewest(): Promise<void> {
    try {
      const ofProjects = Map.groupBy(this.#readers, ({ session }) => session.request.caller.project);
      for (const [project, readers] of ofProjects) {
        const { position } = await this.#parts.changes.latest(project);
        for (const reader of readers) reader.notify(position);
      }
    } catch {
      // The store is away.
    }
  }

  #onChange(change: Notification): void {
    if (change.type !== 'changes') return;
    for (const reader of this.#readers)
      if (reader.session.request.caller.project === change.project) reader.notify(change.position);
  }
}
