import type { ThreadRecord } from '../../store/ports/threads.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import { threadEvent } from '../../wire/conversation-events.ts';
import type { StreamEvent } from '../../wire/stream-event.ts';
import type { EventSession } from '../sessions/event-session.ts';
import type { FeedParts } from './conversation-feed.ts';

/** Most users whose unread messages are counted in one statement. */
const VIEWERS_AT_ONCE = 1_000;

/** A `thread` event as each reader gets it: alike but for `unread`, so the text is made once for each count. */
export class ThreadTexts {
  readonly #thread: ThreadRecord;
  readonly #id: string;
  readonly #unread: ReadonlyMap<string, number>;
  readonly #events = new Map<number | null, StreamEvent>();

  private constructor(thread: ThreadRecord, id: string, unread: ReadonlyMap<string, number>) {
    this.#thread = thread;
    this.#id = id;
    this.#unread = unread;
  }

  /** Costs a statement for each 1,000 users with client tokens among the readers. `id` is that of the event. */
  static async of(
    { store, reads }: Pick<FeedParts, 'store' | 'reads'>,
    project: ProjectKey,
    thread: ThreadRecord,
    id: string,
    sessions: Iterable<EventSession>,
  ): Promise<ThreadTexts> {
    const viewers = new Set<string>();
    for (const { request } of sessions) if (request.viewer !== undefined) viewers.add(request.viewer.userId);
    const unread = new Map<string, number>();
    for (const some of slices([...viewers], VIEWERS_AT_ONCE)) {
      const counts = await reads.run(project, () => store.conversationFeed.unread(project, thread.id, some));
      for (const [userId, count] of counts) unread.set(userId, count);
    }
    return new ThreadTexts(thread, id, unread);
  }

  /** The count of unread messages in the text; null for a reader without one. */
  unreadOf({ request: { viewer } }: EventSession): number | null {
    return viewer === undefined ? null : (this.#unread.get(viewer.userId) ?? 0);
  }

  for(session: EventSession): StreamEvent {
    const unread = this.unreadOf(session);
    const event = this.#events.get(unread) ?? threadEvent({ ...this.#thread, unread }, this.#id);
    this.#events.set(unread, event);
    return event;
  }
}
