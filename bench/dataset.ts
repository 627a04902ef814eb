/** The people and groups that are measured: their IDs look like digests, and a group's members are drawn from all. */
import { createHash } from 'node:crypto';

export interface Dataset {
  readonly users: number;
  /** Groups of 10 members. */
  readonly smallGroups: number;
  /** Groups of 100 members. */
  readonly largeGroups: number;
}

/** What most measurements stand on. */
export const SMALL: Dataset = { users: 1_000, smallGroups: 500, largeGroups: 100 };
/** 1,000,000 users, 100,000 groups, 5,000,000 memberships. */
export const LARGE: Dataset = { users: 1_000_000, smallGroups: 55_556, largeGroups: 44_444 };

const digest = (text: string) => createHash('md5').update(text).digest('hex').slice(0, 12);
export const userId = (index: number): string => `u${digest(`user ${index}`)}`;
export const smallGroupId = (index: number): string => `s${digest(`small ${index}`)}`;
export const largeGroupId = (index: number): string => `l${digest(`large ${index}`)}`;

/** Numbers below `bound` that look random and are the same in every run. */
export function* drawn(bound: number, seed = 1): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield Math.floor((state / 2 ** 32) * bound);
  }
}

function membersOf(dataset: Dataset, count: number, seed: number): string[] {
  const members = new Set<number>();
  for (const index of drawn(dataset.users, seed)) {
    members.add(index);
    if (members.size === count) break;
  }
  return [...members].map(userId);
}

/** The members of a small group: who can be present in it. */
export const smallGroupMembers = (dataset: Dataset, index: number): string[] =>
  membersOf(dataset, 10, index + 1);

/** The members of a large group. */
export const largeGroupMembers = (dataset: Dataset, index: number): string[] =>
  membersOf(dataset, 100, 1_000_000 + index);

/** The dataset as batches within the limits, users first. */
export function* batches(dataset: Dataset): Generator<object> {
  for (let first = 0; first < dataset.users; first += 10_000) {
    const users = Array.from({ length: Math.min(10_000, dataset.users - first) }, (_, offset) => {
      const id = userId(first + offset);
      return { id, name: `User ${first + offset}`, email: `${id}@example.com` };
    });
    yield { users };
  }
  const groups = dataset.smallGroups + dataset.largeGroups;
  for (let first = 0; first < groups; first += 1_000) {
    const length = Math.min(1_000, groups - first);
    yield { groups: Array.from({ length }, (_, offset) => groupOf(dataset, first + offset)) };
  }
}

function groupOf(dataset: Dataset, index: number): object {
  if (index < dataset.smallGroups) {
    const members = smallGroupMembers(dataset, index);
    return { id: smallGroupId(index), name: `Small ${index}`, members, metadata: { section: 'python' } };
  }
  const large = index - dataset.smallGroups;
  const members = largeGroupMembers(dataset, large);
  return { id: largeGroupId(large), name: `Large ${large}`, members, metadata: { section: 'python' } };
}

/** Sends the dataset to a server. */
export async function fill(port: number, token: string, dataset: Dataset): Promise<void> {
  for (const batch of batches(dataset)) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(batch),
    });
    if (!answer.ok) throw new Error(`the dataset was refused: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}
