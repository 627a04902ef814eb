/**
 * Sets users present a few milliseconds apart and watches them expire: how late after its deadline does a departure
 * reach a reader? The deadline is taken from the clock when the PUT was sent, so the PUT's own time counts as lateness.
 *
 * Reads an {@link ExpiryPlan} as JSON from the file named by its argument; prints an {@link ExpiryResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

export interface ExpiryPlan {
  readonly port: number;
  readonly token: string;
  readonly group: string;
  readonly members: readonly string[];
  readonly ttlMs: number;
}

/** Milliseconds after the deadline. */
export interface ExpiryResult {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly missed: number;
}

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as ExpiryPlan;
const deadlines = new Map<string, number>();
const late: number[] = [];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function read(): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ host: '127.0.0.1', port: plan.port });
    socket.once('error', reject);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('event: snapshot')) resolve();
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const user = /event: departed\n[\s\S]*"id":"([^"]+)"/.exec(text.slice(0, end))?.[1];
        if (user !== undefined) late.push(performance.now() - (deadlines.get(user) ?? Number.NaN));
        text = text.slice(end + 2);
      }
    });
    socket.write(
      `GET /v1/groups/${plan.group}/presence HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${plan.token}\r\n\r\n`,
    );
  });
}

async function put(user: string): Promise<void> {
  deadlines.set(user, performance.now() + plan.ttlMs);
  const answer = await fetch(`http://127.0.0.1:${plan.port}/v1/users/${user}/presence`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${plan.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ groupID: plan.group, location: { page: 'the page' } }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  await answer.arrayBuffer();
}

await read();
for (const member of plan.members) {
  await put(member);
  await pause(3);
}
for (const end = performance.now() + plan.ttlMs + 10_000; late.length < plan.members.length; ) {
  if (performance.now() > end) break;
  await pause(20);
}
const sorted = Float64Array.from(late).sort();
const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const result: ExpiryResult = {
  p50: at(0.5),
  p99: at(0.99),
  max: at(1),
  missed: plan.members.length - late.length,
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
