/**
 * The load generator, a process of its own so that it can be pinned to a core: raw sockets, one request in flight on
 * each, requests prepared beforehand. It does less work per request than any server that is measured. One process runs
 * all loads, so its code is compiled when a load begins.
 *
 * Receives {@link LoadPlan}s as messages; sends a {@link LoadResult}, or `{ error }`, for each.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { type Percentiles, percentilesOf } from './percentiles.ts';

export interface LoadPlan {
  /** The server's; the connections are spread over several. */
  readonly port: number | readonly number[];
  readonly connections: number;
  readonly seconds: number;
  /** The load runs for so long before the measurement begins. Default: 0.2. */
  readonly warmUpSeconds?: number;
  /** A file with whole requests, a JSON array of strings. The connections take them in order, again and again. */
  readonly requestsFile: string;
  /** Never sleep between answers. False where another process is to have time on this core. */
  readonly awake: boolean;
  /**
   * Send at this rate, however late the answers are, and measure each answer from the time when its request was due; to the
   * millisecond unless `awake`. Default: each connection sends its next request when it has its answer.
   */
  readonly requestsPerSecond?: number;
}

export interface LoadResult extends Percentiles {
  readonly requestsPerSecond: number;
  /** All answers, those before the measurement began among them. */
  readonly answers: number;
  /** Bytes of an answer's body, on average. */
  readonly bodyBytes: number;
  readonly failures: number;
  /** The first answer that was not a 2xx, for the report. */
  readonly firstFailure: string | null;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = Buffer.from('content-length: ');
/** So many request files stay in memory. */
const MAX_SEQUENCES = 8;
const DEFAULT_WARM_UP_SECONDS = 0.2;

/** The requests of one file. A later load continues where the last one ended. */
class RequestSequence {
  readonly #requests: readonly Buffer[];
  #next = 0;

  constructor(file: string) {
    this.#requests = (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((text) => Buffer.from(text));
  }

  take(): Buffer {
    const request = this.#requests[this.#next] as Buffer;
    this.#next = this.#next + 1 === this.#requests.length ? 0 : this.#next + 1;
    return request;
  }
}

const sequences = new Map<string, RequestSequence>();

function sequenceOf(file: string): RequestSequence {
  const sequence = sequences.get(file) ?? new RequestSequence(file);
  sequences.delete(file);
  sequences.set(file, sequence);
  for (const oldest of sequences.keys()) {
    if (sequences.size <= MAX_SEQUENCES) break;
    sequences.delete(oldest);
  }
  return sequence;
}

/** The summary of the answers. Latencies are in milliseconds, in a buffer that grows by doubling. */
class Answers {
  readonly #begin: number;
  #latencies = new Float64Array(1 << 18);
  #measured = 0;
  #answered = 0;
  #bodyBytes = 0;
  #failures = 0;
  #firstFailure: string | null = null;

  constructor(begin: number) {
    this.#begin = begin;
  }

  /** Requests that were due before the measurement began are not measured. */
  add(dueAt: number, now: number): void {
    this.#answered += 1;
    if (dueAt < this.#begin) return;
    if (this.#measured === this.#latencies.length) {
      const larger = new Float64Array(2 * this.#measured);
      larger.set(this.#latencies);
      this.#latencies = larger;
    }
    this.#latencies[this.#measured] = now - dueAt;
    this.#measured += 1;
  }

  addBody(bytes: number): void {
    this.#bodyBytes += bytes;
  }

  fail(head: string): void {
    this.#failures += 1;
    this.#firstFailure ??= head;
  }

  result(seconds: number): LoadResult {
    return {
      requestsPerSecond: this.#measured / seconds,
      ...percentilesOf(this.#latencies.subarray(0, this.#measured)),
      answers: this.#answered,
      bodyBytes: Math.round(this.#bodyBytes / this.#answered),
      failures: this.#failures,
      firstFailure: this.#firstFailure,
    };
  }
}

/** One connection with at most one request in flight. */
class Connection {
  readonly #socket: Socket;
  readonly #answers: Answers;
  readonly #onAnswer: (connection: Connection) => void;
  #bytesLeft = 0;
  /** When the request in flight was sent, or was to be sent. */
  dueAt = 0;

  constructor(
    port: number,
    answers: Answers,
    onAnswer: (connection: Connection) => void,
    onError: (error: Error) => void,
  ) {
    this.#answers = answers;
    this.#onAnswer = onAnswer;
    const buffer = Buffer.allocUnsafe(262_144);
    const callback = (count: number) => {
      this.#receive(buffer, count);
      return true;
    };
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer, callback } });
    this.#socket.once('error', onError);
    this.#socket.once('end', () => onError(new Error('the server closed a connection')));
  }

  send(request: Buffer, dueAt: number): void {
    this.dueAt = dueAt;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer, count: number): void {
    if (this.#bytesLeft === 0) this.#bytesLeft = this.#readHead(bytes, count);
    this.#bytesLeft -= count;
    if (this.#bytesLeft === 0) this.#onAnswer(this);
  }

  /** Bytes of the whole answer, head and body, from its first chunk. */
  #readHead(bytes: Buffer, count: number): number {
    if (bytes[9] !== 0x32) this.#answers.fail(bytes.toString('latin1', 0, Math.min(count, 600)));
    const head = bytes.indexOf(HEAD_END) + HEAD_END.length;
    const field = bytes.indexOf(CONTENT_LENGTH);
    if (head < HEAD_END.length || field === -1 || field > head || head > count)
      throw new Error(`the answer has no plain head: ${bytes.toString('latin1', 0, 300)}`);
    const from = field + CONTENT_LENGTH.length;
    const length = Number.parseInt(bytes.toString('latin1', from, from + 12), 10);
    this.#answers.addBody(length);
    return head + length;
  }
}

/** When requests are due: at once for a connection that is free, or at a rate. */
class Schedule {
  readonly #end: number;
  readonly #intervalMs: number;
  #dueAt: number;

  constructor(begin: number, end: number, requestsPerSecond: number | undefined) {
    this.#end = end;
    this.#intervalMs = requestsPerSecond === undefined ? 0 : 1_000 / requestsPerSecond;
    this.#dueAt = begin;
  }

  /** When the next request was due; null when none is due now. */
  next(now: number): number | null {
    if (this.#intervalMs === 0) return now < this.#end ? now : null;
    if (this.#dueAt > now || this.#dueAt >= this.#end) return null;
    const dueAt = this.#dueAt;
    this.#dueAt += this.#intervalMs;
    return dueAt;
  }

  isOver(now: number): boolean {
    return (this.#intervalMs === 0 ? now : this.#dueAt) >= this.#end;
  }
}

async function run(plan: LoadPlan): Promise<LoadResult> {
  const requests = sequenceOf(plan.requestsFile);
  const start = performance.now();
  const begin = start + (plan.warmUpSeconds ?? DEFAULT_WARM_UP_SECONDS) * 1_000;
  const end = begin + plan.seconds * 1_000;
  const schedule = new Schedule(start, end, plan.requestsPerSecond);
  const answers = new Answers(begin);
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  const idle: Connection[] = [];
  const sendDue = () => {
    for (let free = idle.pop(); free !== undefined; free = idle.pop()) {
      const dueAt = schedule.next(performance.now());
      if (dueAt === null) {
        idle.push(free);
        break;
      }
      free.send(requests.take(), dueAt);
    }
    if (idle.length === plan.connections && schedule.isOver(performance.now())) resolve();
  };
  const onAnswer = (connection: Connection) => {
    answers.add(connection.dueAt, performance.now());
    idle.push(connection);
    sendDue();
  };
  const ports = [plan.port].flat();
  for (let index = 0; index < plan.connections; index += 1)
    idle.push(new Connection(ports[index % ports.length] as number, answers, onAnswer, reject));
  const connections = [...idle];
  let isRunning = true;
  // A sleeping process is woken at the expense of the server that sends to it. So the generator does not sleep.
  const stayAwake = () => {
    if (!isRunning) return;
    sendDue();
    setImmediate(stayAwake);
  };
  if (plan.awake) stayAwake();
  else sendDue();
  const timer = setInterval(sendDue, 1);
  await over.finally(() => {
    isRunning = false;
    clearInterval(timer);
    for (const connection of connections) connection.close();
  });
  return answers.result((performance.now() - begin) / 1_000);
}

process.on('message', (plan: LoadPlan) => {
  run(plan).then(
    (result) => process.send?.(result),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
