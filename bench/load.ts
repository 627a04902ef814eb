/**
 * The load generator, a process of its own so that it can be pinned to a core: raw sockets, one request in flight on
 * each, requests prepared beforehand. It does less per request than any server under test, and its own ceiling (against
 * the bare server) is close to that of generators written in C.
 *
 * Reads a {@link LoadPlan} as JSON from the file named by its argument; prints a {@link LoadResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

export interface LoadPlan {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** So long it is loaded before the measuring begins: what a server keeps for a moment is there then. Default: 0. */
  readonly warmUpSeconds?: number;
  /** Whole requests as they go over the wire; each connection takes them in turn, from a place of its own. */
  readonly requests: readonly string[];
  /** Never sleep between answers; not where somebody else is to have time on this core. */
  readonly awake: boolean;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly failures: number;
  /** The first answer that was not a 2xx, for the report. */
  readonly firstFailure: string | null;
}

/** What is left of the answer being read on one connection. */
interface Reading {
  bodyBytesLeft: number;
}

const CONTENT_LENGTH = Buffer.from('content-length: ');

function run(plan: LoadPlan): Promise<LoadResult> {
  const requests = plan.requests.map((request) => Buffer.from(request));
  const latencies: number[] = [];
  let failures = 0;
  let firstFailure: string | null = null;
  let open = plan.connections;
  const begin = performance.now() + (plan.warmUpSeconds ?? 0) * 1_000;
  const end = begin + plan.seconds * 1_000;

  return new Promise((resolve, reject) => {
    const finish = () => {
      const seconds = (performance.now() - begin) / 1_000;
      const sorted = Float64Array.from(latencies).sort();
      const at = (share: number) =>
        sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
      const requestsPerSecond = latencies.length / seconds;
      resolve({ requestsPerSecond, p50: at(0.5), p99: at(0.99), max: at(1), failures, firstFailure });
    };
    for (let index = 0; index < plan.connections; index += 1) {
      let next = Math.floor((index * requests.length) / plan.connections);
      let sentAt = 0;
      const reading: Reading = { bodyBytesLeft: 0 };
      const send = () => {
        sentAt = performance.now();
        socket.write(requests[next] as Buffer);
        next = next + 1 === requests.length ? 0 : next + 1;
      };
      const received = (count: number, buffer: Uint8Array): boolean => {
        const bytes = buffer as Buffer;
        if (reading.bodyBytesLeft === 0) {
          if (bytes[9] !== 0x32) {
            failures += 1;
            firstFailure ??= bytes.toString('latin1', 0, Math.min(count, 600));
          }
          reading.bodyBytesLeft = answerBytes(bytes, count);
        }
        reading.bodyBytesLeft -= count;
        if (reading.bodyBytesLeft > 0) return true;
        reading.bodyBytesLeft = 0;
        const now = performance.now();
        if (now >= begin) latencies.push(now - sentAt);
        if (now < end) send();
        else {
          socket.destroy();
          open -= 1;
          if (open === 0) finish();
        }
        return true;
      };
      const socket = connect({
        host: '127.0.0.1',
        port: plan.port,
        noDelay: true,
        onread: { buffer: Buffer.allocUnsafe(262_144), callback: received },
      });
      socket.once('connect', send);
      socket.once('error', reject);
      socket.once('end', () => reject(new Error('the server closed a connection')));
    }
  });
}

/** Bytes of a whole answer, head and body, from its first chunk. */
function answerBytes(bytes: Buffer, count: number): number {
  const head = bytes.indexOf('\r\n\r\n', 0, 'latin1') + 4;
  const field = bytes.indexOf(CONTENT_LENGTH);
  if (head < 4 || field === -1 || field > head || head > count)
    throw new Error(`no plain answer: ${bytes.toString('latin1', 0, 300)}`);
  return (
    head +
    Number.parseInt(
      bytes.toString('latin1', field + CONTENT_LENGTH.length, field + CONTENT_LENGTH.length + 12),
      10,
    )
  );
}

/**
 * Keeps this process awake on its core. Waking a sleeper is work for whoever sends to it: a slower server, whose
 * answers find the generator asleep, would pay for that with each of them and a faster one would not.
 */
function stayAwake(): void {
  setImmediate(stayAwake);
}

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as LoadPlan;
if (plan.awake) stayAwake();
process.stdout.write(`${JSON.stringify(await run(plan))}\n`, () => process.exit(0));
