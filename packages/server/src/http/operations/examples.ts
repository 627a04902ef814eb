/** Answers and examples that several operations share. */
import { Created, Done } from '@rollcall/protocol';
import type { AnswerDefinition } from '../operation.ts';

export const doneAnswer = (description: string, message: string): AnswerDefinition => ({
  schema: Done,
  description,
  example: { success: true, message },
});

/** The answer of a creation whose ID the server may have made, with an example of both. */
export const createdAnswer = (description: string, message: string, id: string): AnswerDefinition => ({
  status: 201,
  schema: Created,
  description,
  example: { success: true, message, id },
});

/** When a creation is 412. */
export const NOTHING_TO_MATCH = {
  412: 'The request has `If-Match`, and nothing is there that it could match.',
};

export const USER_EXAMPLE = {
  id: 'ada',
  name: 'Ada Lovelace',
  short_name: 'Ada',
  email: 'ada@example.com',
  profile_picture_url: 'https://example.com/ada.png',
  status: 'active',
  metadata: { locale: 'en-GB' },
  created_at: '2026-03-01T09:00:00.000Z',
  updated_at: '2026-03-01T09:30:00.000Z',
} as const;

export const THREAD_EXAMPLE = {
  id: 'launch',
  groupID: 'analysts',
  name: 'Launch date',
  url: 'https://example.com/q3-report',
  location: { page: 'q3-report' },
  metadata: {},
  resolved: false,
  resolvedTimestamp: null,
  createdTimestamp: '2026-03-01T09:00:00.000Z',
  total: 1,
  userMessages: 1,
  actionMessages: 0,
  deletedMessages: 0,
  lastMessageTimestamp: '2026-03-01T09:30:00.000Z',
  participants: [{ userID: 'ada', lastSeenTimestamp: '2026-03-01T09:30:00.000Z' }],
} as const;

/** The thread as a client token reads it. */
export const CLIENT_THREAD_EXAMPLE = { ...THREAD_EXAMPLE, unread: 0 } as const;

export const MESSAGE_EXAMPLE = {
  id: '81',
  threadID: 'launch',
  groupID: 'analysts',
  authorID: 'ada',
  type: 'user_message',
  content: [{ type: 'p', children: [{ text: 'In June, ' }, { text: 'I hope.', italic: true }] }],
  plaintext: 'In June, I hope.',
  url: null,
  metadata: {},
  createdTimestamp: '2026-03-01T09:30:00.000Z',
  updatedTimestamp: null,
  deletedTimestamp: null,
} as const;

export const MEMBERS_EXAMPLE = {
  users: [
    { id: 'ada', name: 'Ada Lovelace', email: 'ada@example.com' },
    { id: 'grace', name: 'Grace Hopper', email: null },
  ],
  pagination: { token: null, total: 2 },
};

export const PRESENT_EXAMPLE = {
  summary: 'At one paragraph of a page, and at no other of that page',
  value: {
    groupID: 'analysts',
    location: { page: 'q3-report', paragraph: '12' },
    exclusiveWithin: { page: 'q3-report' },
  },
};

export const ABSENT_EXAMPLE = {
  summary: 'The user has left',
  value: { groupID: 'analysts', location: { page: 'q3-report', paragraph: '12' }, absent: true },
};

export const NO_SUCH_GROUP = 'The group does not exist.';
