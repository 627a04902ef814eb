import { groupOf, type Threads, threadId } from './conversation-dataset.ts';
import type { Engine, FilledServer } from './conversation-engines.ts';
import { CONVERSATION_OPERATIONS, GROUP_NAME } from './conversation-operations.ts';
import { pause } from './event-stream.ts';
import { send } from './http.ts';
import { discardRequests, load } from './processes.ts';
import { atMost, figure, figures, mebibytes, one, print, two, verdict, whole } from './report.ts';

const ANSWER_MS = 200;
const OTHERS_P99_MS = 50;
/** Other requests are sent at this rate, and measured in rounds of this length. */
const REQUESTS_PER_SECOND = 500;
const ROUND_SECONDS = 2;
const CONNECTIONS = 16;
const ROUNDS_BEFORE = 3;
const ROUNDS_MAX = 150;
/** After so long without a write the embedded engine has emptied its log. */
const SETTLED_MS = 3_000;
const MIXED_REQUESTS = 20_000;
const OTHERS = [
  'GET thread',
  "list a group's threads",
  'list messages, newest first',
  GROUP_NAME,
  'POST message',
];

/** Deletes a group with many messages while other requests go on. */
export async function deletionTable(engine: Engine, filled: FilledServer, doomed: Threads): Promise<void> {
  const messages = doomed.threads * doomed.messagesPerThread;
  print(`### Deletion of a group with ${whole(messages)} messages on ${engine.name}`);
  print();
  const { server, token, store } = filled;
  const requests = await mixedRequests(filled);
  const p99OfRound = async () => {
    const plan = { port: server.port, connections: CONNECTIONS, seconds: ROUND_SECONDS, requests };
    const rate = { requestsPerSecond: REQUESTS_PER_SECOND, awake: engine.isEmbedded };
    return (await load('other requests', { ...plan, ...rate })).p99;
  };
  const before: number[] = [];
  for (let round = 0; round < ROUNDS_BEFORE; round += 1) before.push(await p99OfRound());
  await pause(SETTLED_MS);
  const sizeBefore = await store.bytes();
  const begin = performance.now();
  await send(server, token, 'DELETE', `/v1/groups/${groupOf(doomed, 0)}`);
  const answeredMs = performance.now() - begin;
  const found = await fetch(`http://127.0.0.1:${server.port}/v1/threads/${threadId(doomed, 0)}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const during: number[] = [];
  do during.push(await p99OfRound());
  while (!(await store.isPurged()) && during.length < ROUNDS_MAX);
  const purgedSeconds = (performance.now() - begin) / 1_000;
  discardRequests(requests);
  await pause(SETTLED_MS);
  const sizeAfter = await store.bytes();
  const worst = Math.max(...during);
  figures([
    atMost('DELETE answered, ms', answeredMs, ANSWER_MS, one),
    ['a thread of it afterwards, status', String(found.status), '404', verdict(found.status === 404)],
    figure(`p99 of other requests before, worst ${ROUND_SECONDS} seconds, ms`, two(Math.max(...before))),
    atMost(`p99 of other requests meanwhile, worst ${ROUND_SECONDS} seconds, ms`, worst, OTHERS_P99_MS, two),
    figure('disk before and after', `${mebibytes(sizeBefore)}, ${mebibytes(sizeAfter)}`),
    figure('removed after, s', one(purgedSeconds)),
  ]);
}

/** Requests of several operations in turn. */
async function mixedRequests(filled: FilledServer): Promise<string[]> {
  const operations = CONVERSATION_OPERATIONS.filter(({ name }) => OTHERS.includes(name));
  const each = await Promise.all(operations.map((operation) => operation.requests(filled)));
  return Array.from(
    { length: MIXED_REQUESTS },
    (_, index) => each[index % each.length]?.[Math.floor(index / each.length)] as string,
  );
}
