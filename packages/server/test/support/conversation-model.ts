/** What a page shows that applies the events of a conversation's stream, from one connection or several in a row. */
import assert from 'node:assert/strict';
import type { Thread } from '@rollcall/protocol';
import type { StreamEvent } from './event-parser.ts';

/** The messages by ID: their plaintext. */
export function shownMessages(events: readonly StreamEvent[]): Record<string, string> {
  const shown = new Map<string, string>();
  for (const { type, data } of events) {
    if (type === 'snapshot') {
      shown.clear();
      for (const { id, plaintext } of data.messages) shown.set(id, plaintext);
    } else if (type === 'message') shown.set(data.id, data.plaintext);
    else if (type === 'removed') shown.delete(data.id);
    else if (type === 'appended') {
      const text = `${shown.get(data.id)}${data.text}`;
      assert.equal([...text].length, data.length, `the text of ${data.id} has the length of the event`);
      shown.set(data.id, text);
    }
  }
  return Object.fromEntries(shown);
}

/** The threads by ID. */
export function shownThreads(events: readonly StreamEvent[]): Record<string, Thread> {
  const shown = new Map<string, Thread>();
  for (const { type, data } of events) {
    if (type === 'snapshot') {
      shown.clear();
      for (const thread of data.threads) shown.set(thread.id, thread);
    } else if (type === 'thread') shown.set(data.id, data);
    else if (type === 'removed') shown.delete(data.id);
  }
  return Object.fromEntries(shown);
}
