/** Copies of the model, one for each write. Users and records are shared: no write changes them in place. */
import type { World } from './model-world.ts';

export const copyWorld = ({ groups, users, presence, threads, ...counts }: World): World => ({
  ...counts,
  users: new Map(users),
  presence: [...presence],
  groups: copyEach(groups, (group) => ({
    ...group,
    members: new Set(group.members),
    incarnations: new Map(group.incarnations),
  })),
  threads: copyEach(threads, (thread) => ({
    ...thread,
    messages: thread.messages.map((message) => ({ ...message })),
    seen: new Map(thread.seen),
  })),
});

export const copyEach = <Key, Value>(map: Map<Key, Value>, copy: (value: Value) => Value) =>
  new Map(Array.from(map, ([key, value]) => [key, copy(value)]));
