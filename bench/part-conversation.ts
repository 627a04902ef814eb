import type { AppendPlan, AppendResult } from './append-readers.ts';
import {
  type Conversation,
  DOOMED_GROUP,
  SMALL_CONVERSATION,
  type Threads,
  threadId,
  threadsOf,
} from './conversation-dataset.ts';
import { deletionTable } from './conversation-deletion.ts';
import { diskTable } from './conversation-disk.ts';
import { type Engine, type FilledServer, measuredEngines, startFilled } from './conversation-engines.ts';
import { addAppendable, appends, CONVERSATION_OPERATIONS, groupNames } from './conversation-operations.ts';
import { groupMembers, SMALL } from './dataset.ts';
import { send } from './http.ts';
import { type Measurement, measureAlternately, type Pace } from './measure.ts';
import { addressOf, type Selection } from './operations-tables.ts';
import { runBeside } from './processes.ts';
import { ageFigures, atLeast, atMost, figures, one, print, table, two, verdict, whole } from './report.ts';

/** The target of a read's rate in the large store, as a part of the small one. */
const READ_TARGET = 0.8;
/** An append to a large message may cost this many times one to a small message. */
const LARGE_APPEND_TARGET = 1.5;
/** The rate of appends over that of PUT group name. */
const APPEND_TARGET = 0.5;
const READERS = 1_000;
const APPENDS_PER_SECOND = 50;
const DELIVERY_P99_MS = 150;
/** In the group that is deleted, and in the threads whose deep pages are read. */
const DOOMED_THREADS = 100;
const DEEP_THREADS = 10;

export interface ConversationSelection extends Selection {
  readonly conversation: Conversation;
  /** Messages of the group that is deleted. */
  readonly deletedMessages: number;
}

/** Threads and messages on both engines. */
export async function conversationPart(pace: Pace, selection: ConversationSelection): Promise<void> {
  for (const engine of await measuredEngines('Threads and messages', selection.only))
    await measureEngine(pace, engine, selection);
}

async function measureEngine(
  pace: Pace,
  engine: Engine,
  { conversation, deletedMessages }: ConversationSelection,
): Promise<void> {
  await diskTable(pace, engine);
  await using small = await startFilled(engine, [threadsOf(SMALL_CONVERSATION)]);
  const deep: Threads = {
    ...{ name: 'deep', firstGroup: 0, groups: DEEP_THREADS, threads: DEEP_THREADS },
    messagesPerThread: Math.floor(conversation.messages / 10 / DEEP_THREADS),
  };
  const doomed: Threads = {
    ...{ name: 'doomed', firstGroup: DOOMED_GROUP, groups: 1, threads: DOOMED_THREADS },
    messagesPerThread: Math.floor(deletedMessages / DOOMED_THREADS),
  };
  await using large = await startFilled(engine, [threadsOf(conversation), deep, doomed]);
  const size = `${whole(conversation.threads)} threads and ${whole(conversation.messages)} messages`;
  print(
    `### Threads and messages on ${engine.name}: ${size}, beside ${whole(SMALL_CONVERSATION.messages)} messages`,
  );
  print();
  await operationsTable(pace, engine, small, large);
  await appendsTable(pace, engine, large);
  await readersTable(pace, engine, small);
  await deletionTable(engine, large, doomed);
}

async function operationsTable(
  pace: Pace,
  engine: Engine,
  small: FilledServer,
  large: FilledServer,
): Promise<void> {
  const rows: string[][] = [];
  for (const { name, isRead, requests } of CONVERSATION_OPERATIONS) {
    const subjects = [
      { name: `${name}, small`, ...addressOf(small.server), requests: await requests(small) },
      { name: `${name}, large`, ...addressOf(large.server), requests: await requests(large) },
    ];
    const measured = await measureAlternately(subjects, pace, engine.isEmbedded);
    const [few, many] = measured as [Measurement, Measurement];
    rows.push([
      ...[name, whole(few.requestsPerSecond), whole(many.requestsPerSecond), two(many.ratio)],
      isRead ? verdict(many.ratio >= READ_TARGET) : '',
      ...[two(many.p50), two(many.p99)],
      `${one(many.processorMicroseconds)} (${one(few.processorMicroseconds)})`,
    ]);
  }
  table(
    [
      ...['operation', 'small/s', 'large/s', `ratio (≥ ${two(READ_TARGET)} for reads)`, ''],
      ...['p50 ms', 'p99 ms', 'processor µs (small)'],
    ],
    rows,
  );
}

/** Appends to messages of 1 KiB and of 100 KiB beside PUT group name, in the same rounds. */
async function appendsTable(pace: Pace, engine: Engine, filled: FilledServer): Promise<void> {
  print(`### Appends on ${engine.name}`);
  print();
  // Not before: their threads have one participant each, and would be the first of the project's list.
  await addAppendable(filled);
  const all: readonly (readonly [name: string, requests: string[]])[] = [
    ['PUT group name', groupNames(filled)],
    ['append to 1 KiB', appends('small', filled)],
    ['append to 100 KiB', appends('large', filled)],
  ];
  const subjects = all.map(([name, requests]) => ({ name, ...addressOf(filled.server), requests }));
  const measured = await measureAlternately(subjects, pace, engine.isEmbedded);
  table(
    ['operation', 'requests/s', 'over PUT group name', 'p50 ms', 'p99 ms', 'processor µs'],
    measured.map(({ requestsPerSecond, ratio, p50, p99, processorMicroseconds }, index) => [
      ...[all[index]?.[0] as string, whole(requestsPerSecond), two(ratio), two(p50), two(p99)],
      one(processorMicroseconds),
    ]),
  );
  const [, small, large] = measured as [Measurement, Measurement, Measurement];
  figures([
    atMost('an append to 100 KiB over one to 1 KiB', small.ratio / large.ratio, LARGE_APPEND_TARGET, two),
    atLeast('appends to 1 KiB over PUT group name', small.ratio, APPEND_TARGET, two),
  ]);
}

async function readersTable(
  { seconds }: Pace,
  engine: Engine,
  { server, token, threads }: FilledServer,
): Promise<void> {
  print(
    `### ${whole(READERS)} readers of a thread with ${APPENDS_PER_SECOND} appends a second on ${engine.name}`,
  );
  print();
  const thread = threadId(threads, 0);
  const content = [{ type: 'markdown', children: [{ text: 'The answer: ' }] }];
  const authorID = groupMembers(SMALL, 0)[0];
  await send(server, token, 'POST', `/v1/threads/${thread}/messages`, { id: 'answer', authorID, content });
  const { delivered, expected, ...ages } = await runBeside<AppendPlan, AppendResult>('append-readers.ts', {
    ...{ port: server.port, token, thread, message: 'answer', readers: READERS, sampled: 50 },
    ...{ appendsPerSecond: APPENDS_PER_SECOND, appends: APPENDS_PER_SECOND * seconds * 5 },
  });
  figures([
    ['texts delivered', whole(delivered), `${whole(expected)}, each once`, verdict(delivered === expected)],
    ...ageFigures('from append to reader', ages, DELIVERY_P99_MS),
  ]);
}
