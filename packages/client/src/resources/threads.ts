import type { ThreadFilter, ViewerGroup } from '../http/filter.ts';
import type { PagedList } from '../http/paged-list.ts';
import type { CallOptions } from '../http/transport.ts';
import type { Created, Thread, ThreadCreation, ThreadWrite } from '../protocol.ts';
import { type StreamOptions, Watch } from '../streams/watch.ts';
import type { ThreadsWatch } from '../streams/watches.ts';
import { HostedResource } from './keyed-resource.ts';
import { listAt } from './list-at.ts';
import { Messages } from './messages.ts';

/** Which threads to watch. */
export interface ThreadsWatchOptions extends ThreadFilter, StreamOptions {
  readonly groupID: string;
}

/** The threads of groups. Every method rejects with a RollcallError. */
export class Threads extends HostedResource<Thread, ThreadWrite, ThreadCreation, Created> {
  /** The threads of the project or of one group, the latest activity first. */
  list(filter: ThreadFilter & ViewerGroup = {}, options?: CallOptions): PagedList<Thread> {
    return listAt(this.transport, this.collection, 'threads', options, filter);
  }

  /** The events of a group's threads: `for await (const event of rollcall.threads.watch({ groupID }))`. */
  watch(options: ThreadsWatchOptions): ThreadsWatch {
    return new Watch(this.transport, this.collection, options);
  }

  /** The messages of a thread. Sends no request. */
  messages(id: string): Messages {
    return new Messages(this.transport, () => `${this.pathOf(id)}/messages`);
  }
}
