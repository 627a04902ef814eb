/** As much of AsyncAPI 3.0 as the description of events uses. */
import type { Reference, Schema } from './openapi-document.ts';

export interface Message {
  readonly name: string;
  readonly summary?: string;
  /** What is sent beside the payload. */
  readonly headers?: Schema;
  readonly payload: Schema;
  readonly examples?: readonly { readonly headers?: object; readonly payload: object }[];
}

export interface Channel {
  readonly address: string;
  readonly title: string;
  readonly description: string;
  readonly servers: readonly Reference[];
  readonly parameters?: Readonly<Record<string, { readonly description: string }>>;
  readonly messages: Readonly<Record<string, Message>>;
  readonly bindings?: object;
}

interface MessagesOfChannel {
  readonly channel: Reference;
  readonly messages: readonly Reference[];
}

/** From the server's side: it receives frames, and sends events. */
export interface EventOperation extends MessagesOfChannel {
  readonly action: 'send' | 'receive';
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly Reference[];
  readonly bindings?: object;
  readonly reply?: MessagesOfChannel;
}

/** References to messages of a channel. */
export const inChannel = (id: string, keys: readonly string[]): MessagesOfChannel => ({
  channel: { $ref: `#/channels/${id}` },
  messages: keys.map((key) => ({ $ref: `#/channels/${id}/messages/${key}` })),
});
