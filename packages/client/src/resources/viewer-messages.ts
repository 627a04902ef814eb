import type { MessageOrder } from '../http/filter.ts';
import type { PagedList } from '../http/paged-list.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type {
  Created,
  Message,
  ViewerMessageCreation,
  ViewerMessageWrite,
  ViewerThread,
} from '../protocol.ts';
import { type StreamOptions, Watch } from '../streams/watch.ts';
import type { MessagesWatch } from '../streams/watches.ts';
import { KeyedResource } from './keyed-resource.ts';
import { listAt } from './list-at.ts';

/**
 * The messages of one thread, which the viewer reads, and writes as themselves: `put` changes the viewer's own messages, and
 * `{ deleted: true }` hides one. Every method rejects with a RollcallError.
 */
export class ViewerMessages extends KeyedResource<
  Message,
  ViewerMessageWrite,
  ViewerMessageCreation,
  Created
> {
  readonly #threadID: string;

  /** @internal */
  constructor(transport: Transport, path: () => string, threadID: string) {
    super(transport, path);
    this.#threadID = threadID;
  }

  /** All messages, deleted ones included. */
  list(order: MessageOrder = {}, options?: CallOptions): PagedList<Message> {
    return listAt(this.transport, this.collection, 'messages', options, order);
  }

  /** The events of the thread: `for await (const event of client.threads.messages(id).watch())`. */
  watch(options: StreamOptions = {}): MessagesWatch<ViewerThread> {
    return new Watch(this.transport, this.collection, options, {
      op: 'watch_messages',
      threadID: this.#threadID,
    });
  }
}
