/** Writers that change the same users, groups and threads at once, through one or several processes. */
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../sim/random.ts';
import { type Project, segment } from '../support/project-client.ts';

export interface ChangeLoad {
  /** A host's view of the project through each process. */
  readonly projects: readonly Project[];
  readonly seed: number;
  /** The writers stop when it is true. */
  readonly isEnough: () => boolean;
}

const USERS = numbered('u', 3_000);
const GROUPS = numbered('g', 12);
const THREADS = numbered('t', 20);
/** Users of a large batch: more than one record names, so that the batch has several of them. */
const LARGE_BATCH = 1_200;
const SMALL_BATCH = 60;
/** The writers through each process. */
const BATCH_WRITERS = 2;
const SINGLE_WRITERS = 5;
const PAUSE_MS = 20;

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

/** The request IDs of a writer: each request is sent after the answer to the one before. */
export const requestIdOf = (writer: string, index: number) => `${writer}:${index}`;

/** Writes until it is enough. Rejected writes are part of it. @throws Error for an answer that is none of a write's */
export async function runChangeLoad({ projects, seed, isEnough }: ChangeLoad): Promise<void> {
  const writers = projects.flatMap((project, process) =>
    Array.from({ length: BATCH_WRITERS + SINGLE_WRITERS }, async (_, number) => {
      const random = new Random(seed + 100 * process + number);
      const name = `${process}-${number}`;
      for (let index = 0; !isEnough(); index += 1) {
        const [method, path, body] = number < BATCH_WRITERS ? batch(random) : single(random);
        const headers = { 'x-request-id': requestIdOf(name, index) };
        const { status, text } = await project.send(method, path, body && JSON.stringify(body), headers);
        // PostgreSQL answers 503 to a write that waits for long for the locks of others.
        if (status === 503) await delay(PAUSE_MS);
        else if (![200, 201, 400, 401, 404, 409].includes(status)) throw new Error(`${status} ${text}`);
      }
    }),
  );
  await Promise.all(writers);
}

type Write = readonly [method: string, path: string, body?: object];

function batch(random: Random): Write {
  const size = random.chance(0.05) ? LARGE_BATCH : SMALL_BATCH;
  const from = random.below(USERS.length - size);
  const users = USERS.slice(from, from + size);
  const status = random.chance(0.2) ? { status: random.pick(['active', 'deleted']) } : {};
  const members = () => users.slice(random.below(size / 2)).slice(0, size / 2);
  const groups = [random.pick(GROUPS), random.pick(GROUPS)];
  return [
    'POST',
    '/v1/batch',
    {
      users: users.map((id) => ({ id, name: `n${random.below(1_000_000)}`, ...status })),
      groups: groups.map((id) => ({
        id,
        name: `n${random.below(100)}`,
        status: 'active',
        members: members(),
      })),
    },
  ];
}

/** Some of them are rejected, because what they name was removed. */
function single(random: Random): Write {
  const [user, group, thread] = [random.pick(USERS), random.pick(GROUPS), random.pick(THREADS)];
  const name = `n${random.below(1_000_000)}`;
  const others = () => random.some(USERS, 20);
  const status = random.pick(['active', 'deleted']);
  // An import: neither a membership nor an active author is needed.
  const createdTimestamp = '2026-01-01T00:00:00.000Z';
  const writes: readonly Write[] = [
    ['PUT', `/v1/users/${user}`, { name, status }],
    ['PUT', `/v1/users/${random.pick(USERS.slice(0, 3))}`, { name }],
    ['DELETE', `/v1/users/${user}`],
    ['POST', `/v1/groups/${group}/members`, { add: others().slice(10), remove: others() }],
    ['POST', `/v1/groups/${group}/members`, { remove: others() }],
    ['PUT', `/v1/groups/${group}`, { name, status }],
    ['PUT', `/v1/groups/${group}`, { name, members: [] }],
    ['PUT', `/v1/threads/${thread}`, { groupID: group, name }],
    [
      'POST',
      `/v1/threads/${thread}/messages`,
      {
        authorID: user,
        content: [{ type: 'p', children: [{ text: name }] }],
        createdTimestamp,
        createThread: { groupID: group, name, createdTimestamp },
      },
    ],
    ['DELETE', `/v1/threads/${thread}`],
  ];
  if (random.chance(0.02)) return ['DELETE', `/v1/groups/${segment(group)}`];
  return random.pick(writes);
}
