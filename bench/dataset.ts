/** The users and groups that are measured. IDs look like digests; the members of a group are drawn from all users. */
import { createHash } from 'node:crypto';
import { type Address, send } from './http.ts';

export interface Dataset {
  readonly users: number;
  readonly groups: number;
  /** Members of each group. */
  readonly groupSize: number;
  /** Groups of {@link PAGE_SIZE} members. */
  readonly largeGroups: number;
}

/** Members of a large group: one page of its member list shows all of them. */
export const PAGE_SIZE = 100;

export const SMALL: Dataset = { users: 1_000, groups: 1_000, groupSize: 10, largeGroups: 100 };
export const LARGE: Dataset = { users: 100_000, groups: 10_000, groupSize: 50, largeGroups: 1_000 };
/** 1,000,000 users, 100,000 groups, 5,000,000 memberships. */
export const HUGE: Dataset = { users: 1_000_000, groups: 55_556, groupSize: 10, largeGroups: 44_444 };

const USERS_PER_BATCH = 10_000;
const GROUPS_PER_BATCH = 1_000;

const digest = (text: string) => createHash('md5').update(text).digest('hex').slice(0, 12);

/** Computes each ID once: the requests for 100,000 users name millions of them. */
function idsOf(prefix: string, kind: string): (index: number) => string {
  const ids: string[] = [];
  return (index) => {
    ids[index] ??= prefix + digest(`${kind} ${index}`);
    return ids[index] as string;
  };
}

export const userId = idsOf('u', 'user');
export const groupId = idsOf('s', 'small');
export const largeGroupId = idsOf('l', 'large');

/** Numbers below `bound` that look random and are the same in every run. */
export function* randomNumbers(bound: number, seed = 1): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield Math.floor((state / 2 ** 32) * bound);
  }
}

function drawUsers({ users }: Dataset, count: number, seed: number): string[] {
  const drawn = new Set<number>();
  for (const index of randomNumbers(users, seed)) {
    drawn.add(index);
    if (drawn.size === count) break;
  }
  return [...drawn].map(userId);
}

export const groupMembers = (dataset: Dataset, index: number): string[] =>
  drawUsers(dataset, dataset.groupSize, index + 1);

/** As many users of the dataset who are not members of the group. */
export function outsiders(dataset: Dataset, index: number): string[] {
  return drawUsers(dataset, 2 * dataset.groupSize, index + 1).slice(dataset.groupSize);
}

export const largeGroupMembers = (dataset: Dataset, index: number): string[] =>
  drawUsers(dataset, PAGE_SIZE, 1_000_000 + index);

/** The dataset as batches within the limits, users first. */
export function* batches(dataset: Dataset): Generator<object> {
  for (let first = 0; first < dataset.users; first += USERS_PER_BATCH) {
    const length = Math.min(USERS_PER_BATCH, dataset.users - first);
    yield { users: Array.from({ length }, (_, offset) => user(first + offset)) };
  }
  const groups = dataset.groups + dataset.largeGroups;
  for (let first = 0; first < groups; first += GROUPS_PER_BATCH) {
    const length = Math.min(GROUPS_PER_BATCH, groups - first);
    yield { groups: Array.from({ length }, (_, offset) => group(dataset, first + offset)) };
  }
}

function user(index: number): object {
  const id = userId(index);
  return { id, name: `User ${index}`, email: `${id}@example.com` };
}

function group(dataset: Dataset, index: number): object {
  const metadata = { section: 'python' };
  if (index < dataset.groups) {
    return { id: groupId(index), name: `Group ${index}`, members: groupMembers(dataset, index), metadata };
  }
  const large = index - dataset.groups;
  const members = largeGroupMembers(dataset, large);
  return { id: largeGroupId(large), name: `Large ${large}`, members, metadata };
}

/** Writes the dataset to a server. */
export async function fill(server: Address, token: string, dataset: Dataset): Promise<void> {
  for (const batch of batches(dataset)) await send(server, token, 'POST', '/v1/batch', batch);
}
