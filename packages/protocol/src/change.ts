/** Changes that writes made, as the change feed answers them. */

import { flag, list, maybe, meaning, object, oneOf, type Static, text, textOrNull } from './schema.ts';
import { Id, Timestamp } from './values.ts';

/** The types of changes, by the names of what a change of the type has: IDs, and of an update the fields that changed. */
const CHANGE_TYPES_BY_NAMES = {
  user: ['user.created', 'user.deactivated', 'user.activated', 'user.removed'],
  'user fields': ['user.updated', 'preferences.updated'],
  group: ['group.created', 'group.deactivated', 'group.activated', 'group.removed'],
  'group fields': ['group.updated'],
  'group users': ['member.added', 'member.removed'],
  'group user': ['durable_presence.moved', 'durable_presence.removed'],
  'group thread': ['thread.created', 'thread.removed'],
  'group thread fields': ['thread.updated'],
  'group thread message': ['message.created', 'message.appended', 'message.removed'],
  'group thread message fields': ['message.updated'],
  '': ['project.renamed', 'project.secret_rotated', 'access_token.issued', 'access_token.revoked'],
  webhook: ['webhook.created', 'webhook.secret_rotated', 'webhook.replayed', 'webhook.removed'],
  'webhook fields': ['webhook.updated'],
} as const;
type ChangeTypesByNames = typeof CHANGE_TYPES_BY_NAMES;

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}`
  ? First | Words<Rest>
  : Exclude<Text, ''>;

/** Changes, with the IDs of users in a list of the type `Users`. */
export type ChangeWith<Users> = {
  [Names in keyof ChangeTypesByNames]: { readonly type: ChangeTypesByNames[Names][number] } & {
    readonly [Name in Words<Names>]: Name extends 'fields'
      ? readonly string[]
      : Name extends 'users'
        ? Users
        : string;
  };
}[keyof ChangeTypesByNames];

export const CHANGE_TYPES = Object.values(CHANGE_TYPES_BY_NAMES).flat();

/** What a filter of types may name: a type, or `member.*` for all that begin so. */
export const CHANGE_FILTERS: readonly string[] = [
  ...CHANGE_TYPES,
  ...new Set(CHANGE_TYPES.map((type) => `${type.split('.')[0]}.*`)),
];

export const ACTOR_KINDS = [
  ...(['project_token', 'app_token', 'access_token', 'customer_token'] as const),
  ...(['client_token', 'command_line', 'service'] as const),
] as const;

const Actor = object(
  {
    kind: oneOf(ACTOR_KINDS, { 'x-meaning': 'By which kind of token, or other way.' }),
    id: meaning(textOrNull(), 'The project, session, customer or user of the token; null for the others.'),
  },
  { 'x-meaning': 'Who made a change.' },
);

export const RecordedChange = object(
  {
    id: meaning(text(), 'The position of the change. Opaque; the same change always has the same one.'),
    type: meaning(text(), 'What happened, such as `member.added`.'),
    at: meaning(Timestamp, 'When it was made.'),
    actor: meaning(Actor, 'By whom.'),
    request_id: meaning(textOrNull(), 'The `x-request-id` of the request; null where there was none.'),
    user: maybe(meaning(Id, 'The user concerned.')),
    users: maybe(meaning(list(Id), 'Of `member.*`: at most 1,000 users.')),
    group: maybe(meaning(Id, 'The group concerned.')),
    thread: maybe(meaning(Id, 'The thread concerned.')),
    message: maybe(meaning(Id, 'The message concerned.')),
    webhook: maybe(meaning(Id, 'The webhook concerned.')),
    fields: maybe(meaning(list(text()), 'Of `.updated`: the names of the fields that changed.')),
  },
  { 'x-meaning': 'A change. Its values are not part of it: read the resource.' },
);
export type RecordedChange = Static<typeof RecordedChange>;

export const ChangeList = object(
  {
    changes: meaning(list(RecordedChange), 'In the order in which they happened.'),
    next: meaning(text(), 'Pass it as `after` for the changes that follow.'),
    more: meaning(flag(), 'Whether some follow already. A page can be empty although more follow.'),
  },
  { 'x-meaning': 'A page of changes.' },
);
export type ChangeList = Static<typeof ChangeList>;

/** The `data` of each event of a stream of changes: the event is named after the type of the change. */
export const CHANGE_EVENTS: Readonly<Record<string, typeof RecordedChange>> = Object.fromEntries(
  CHANGE_TYPES.map((type) => [type, RecordedChange]),
);
