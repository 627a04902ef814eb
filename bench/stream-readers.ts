/**
 * Readers of a presence stream and the users who move, in one process, so that one clock times both. Every reader counts
 * the events that it gets; some of them also parse each event, to learn how old it is.
 *
 * Reads a {@link StreamPlan} as JSON from the file named by its argument; prints a {@link StreamResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface StreamPlan {
  readonly port: number;
  readonly token: string;
  readonly group: string;
  readonly members: readonly string[];
  readonly streams: number;
  /** How many of them take events apart. */
  readonly sampled: number;
  readonly movesPerSecond: number;
  readonly moves: number;
  /** The server's process, whose memory is read with all streams open and nobody moving. */
  readonly serverPid: number;
}

export interface StreamResult {
  /** Bytes of the server's resident memory that each open stream added. */
  readonly bytesPerStream: number;
  readonly delivered: number;
  readonly expected: number;
  /** From sending a PUT to reading its event, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const ARRIVED = Buffer.from('event: arrived');
const SNAPSHOT = Buffer.from('event: snapshot');
/** How long after the last move an event may come and still be counted. */
const PATIENCE_MS = 5_000;

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as StreamPlan;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const sentAt: number[] = [];
const ages: number[] = [];
let delivered = 0;
let failed = 0;

class Reader {
  readonly opened: Promise<void>;
  readonly #isSampled: boolean;
  #isOpen = false;
  /** What came last, as long as an event's name may be cut in two. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(isSampled: boolean) {
    this.#isSampled = isSampled;
    this.opened = new Promise((resolve, reject) => {
      const socket: Socket = connect({ host: '127.0.0.1', port: plan.port });
      socket.once('error', reject);
      socket.once('end', () => {
        failed += 1;
      });
      socket.on('data', (chunk: Buffer) => {
        const now = performance.now();
        const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
        if (!this.#isOpen && bytes.includes(SNAPSHOT)) {
          this.#isOpen = true;
          resolve();
        }
        const end = bytes.lastIndexOf('\n\n') + 2;
        if (end > 1) this.#take(bytes.subarray(0, end), now);
        this.#rest = end > 1 ? bytes.subarray(end) : bytes;
      });
      socket.write(
        `GET /v1/groups/${plan.group}/presence HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${plan.token}\r\n\r\n`,
      );
    });
  }

  #take(bytes: Buffer, now: number): void {
    if (this.#isSampled) {
      this.#takeApart(bytes.toString(), now);
      return;
    }
    for (let at = bytes.indexOf(ARRIVED); at !== -1; at = bytes.indexOf(ARRIVED, at + ARRIVED.length)) {
      delivered += 1;
    }
  }

  #takeApart(text: string, now: number): void {
    for (const [, move] of text.matchAll(/event: arrived\n[\s\S]*?"paragraph":"move-(\d+)"/g)) {
      delivered += 1;
      ages.push(now - (sentAt[Number(move)] ?? Number.NaN));
    }
  }
}

function put(user: string, paragraph: string): Promise<void> {
  const location = { page: 'the page', paragraph };
  const body = JSON.stringify({ groupID: plan.group, location, exclusiveWithin: { page: 'the page' } });
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        host: '127.0.0.1',
        port: plan.port,
        method: 'PUT',
        path: `/v1/users/${user}/presence`,
        headers: {
          authorization: `Bearer ${plan.token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (answer) => {
        answer.resume();
        answer.once('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error('refused'))));
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function serverBytes(): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${plan.serverPid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1_024;
}

/** Opens the streams a few at a time, as the accept queue of the system takes them. */
async function openAll(): Promise<void> {
  for (let first = 0; first < plan.streams; first += 100) {
    const count = Math.min(100, plan.streams - first);
    await Promise.all(
      Array.from({ length: count }, (_, offset) => new Reader(first + offset < plan.sampled).opened),
    );
  }
}

async function moveAbout(): Promise<void> {
  const begin = performance.now();
  const moving: Promise<void>[] = [];
  for (let move = 0; move < plan.moves; move += 1) {
    const due = begin + (move * 1_000) / plan.movesPerSecond;
    if (due > performance.now()) await pause(due - performance.now());
    sentAt[move] = performance.now();
    moving.push(put(plan.members[move % plan.members.length] as string, `move-${move}`));
  }
  await Promise.all(moving);
}

for (const member of plan.members) await put(member, 'the beginning');
await pause(1_000);
const before = serverBytes();
await openAll();
await pause(2_000);
const bytesPerStream = (serverBytes() - before) / plan.streams;
await moveAbout();
const expected = plan.moves * plan.streams;
for (const end = performance.now() + PATIENCE_MS; delivered < expected && performance.now() < end; ) {
  await pause(20);
}
if (failed > 0) throw new Error(`${failed} streams were cut off`);
const sorted = Float64Array.from(ages).sort();
const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const result: StreamResult = {
  bytesPerStream,
  delivered,
  expected,
  p50: at(0.5),
  p99: at(0.99),
  max: at(1),
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
