import type { MessageOrder } from '../http/filter.ts';
import type { PagedList } from '../http/paged-list.ts';
import type { CallOptions } from '../http/transport.ts';
import type {
  Appended,
  Created,
  Message,
  MessageAppend,
  MessageCreation,
  MessageWrite,
} from '../protocol.ts';
import { type StreamOptions, Watch } from '../streams/watch.ts';
import type { MessagesWatch } from '../streams/watches.ts';
import { HostedResource, type Precondition } from './keyed-resource.ts';
import { listAt } from './list-at.ts';

/** The messages of one thread. Every method rejects with a RollcallError. */
export class Messages extends HostedResource<Message, MessageWrite, MessageCreation, Created> {
  /** All messages, deleted ones included. */
  list(order: MessageOrder = {}, options?: CallOptions): PagedList<Message> {
    return listAt(this.transport, this.collection, 'messages', options, order);
  }

  /**
   * Adds a text to a message of one `markdown` node. Never retried: after a lost response, read the message, or append
   * again with the same `offset`, which rejects with status 412 when the text has arrived.
   */
  async append(id: string, body: MessageAppend, options?: CallOptions & Precondition): Promise<Appended> {
    return this.write('POST', `${this.pathOf(id)}/append`, options, { body });
  }

  /** The events of the thread: `for await (const event of rollcall.threads.messages(id).watch())`. */
  watch(options: StreamOptions = {}): MessagesWatch {
    return new Watch(this.transport, this.collection, options);
  }
}
