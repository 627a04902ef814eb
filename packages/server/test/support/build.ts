/** Builders of request items: valid, distinct and deterministic. A test overrides the fields that it is about. */
import type { GroupItem, UserItem } from '@rollcall/protocol';

let built = 0;

/** A user of a batch. */
export function buildUser(overrides: Partial<UserItem> = {}): UserItem {
  built += 1;
  return { id: `user-${built}`, name: `User ${built}`, email: `user.${built}@example.com`, ...overrides };
}

/** A group of a batch. */
export function buildGroup(overrides: Partial<GroupItem> = {}): GroupItem {
  built += 1;
  return { id: `group-${built}`, name: `Group ${built}`, ...overrides };
}

/** `count` IDs in ascending order: `u00`, `u01`, … */
export function buildIds(prefix: string, count: number): string[] {
  const digits = String(count - 1).length;
  return Array.from({ length: count }, (_, index) => prefix + String(index).padStart(digits, '0'));
}
