import type { ThreadFilter, ViewerGroup } from '../http/filter.ts';
import type { PagedList } from '../http/paged-list.ts';
import type { CallOptions } from '../http/transport.ts';
import type {
  Created,
  Done,
  ThreadSeen,
  ViewerThread,
  ViewerThreadCreation,
  ViewerThreadWrite,
} from '../protocol.ts';
import { type StreamOptions, Watch } from '../streams/watch.ts';
import type { ThreadsWatch } from '../streams/watches.ts';
import { KeyedResource, type Precondition } from './keyed-resource.ts';
import { listAt } from './list-at.ts';
import { ViewerMessages } from './viewer-messages.ts';

/** Which threads to watch. */
export interface ViewerThreadsWatchOptions extends ThreadFilter, StreamOptions, ViewerGroup {}

/** The threads of the viewer's groups, and how much of them is unread. Every method rejects with a RollcallError. */
export class ViewerThreads extends KeyedResource<
  ViewerThread,
  ViewerThreadWrite,
  ViewerThreadCreation,
  Created
> {
  /** The threads of the group, the latest activity first. */
  list(filter: ThreadFilter & ViewerGroup = {}, options?: CallOptions): PagedList<ViewerThread> {
    return listAt(this.transport, this.collection, 'threads', options, filter);
  }

  /** The viewer has seen the thread up to the message, or up to now. */
  async markSeen(id: string, body: ThreadSeen = {}, options?: CallOptions & Precondition): Promise<Done> {
    return this.write('PUT', `${this.pathOf(id)}/seen`, options, { body });
  }

  /** The events of the group's threads: `for await (const event of client.threads.watch())`. */
  watch(options: ViewerThreadsWatchOptions = {}): ThreadsWatch<ViewerThread> {
    return new Watch(this.transport, this.collection, options, { op: 'watch_threads' });
  }

  /** The messages of a thread. Sends no request. */
  messages(id: string): ViewerMessages {
    return new ViewerMessages(this.transport, () => `${this.pathOf(id)}/messages`, id);
  }
}
