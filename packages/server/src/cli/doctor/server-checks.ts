import { CLOCK_TOLERANCE_MS } from '../../core/clock.ts';
import { reasonOf } from '../reason-of.ts';
import type { ServerLocation } from '../server-url.ts';
import { type Check, failed, ok, skipped } from './check.ts';

/** A server that takes longer to answer /healthz fails the check. */
const ANSWER_LIMIT_MS = 5_000;
/** The Date header has whole seconds. */
const DATE_RESOLUTION_MS = 1_000;

/** Checks that a server is alive and ready, and its clock. A server that the operator did not name need not run. */
export async function serverChecks(server: ServerLocation | null): Promise<Check[]> {
  if (server === null) return [skipped('server', 'ROLLCALL_PORT is 0: name a running server with --url')];
  const base = server.url.replace(/\/+$/, '');
  try {
    const alive = await get(`${base}/healthz`);
    return [
      answerCheck('alive', base, alive),
      answerCheck('ready', base, await get(`${base}/readyz`)),
      dateCheck(alive),
    ];
  } catch (error) {
    // `fetch` says that it failed, and its cause why.
    const reason = reasonOf((error as Error).cause ?? error);
    if (!server.isNamed) return [skipped('server', `none at ${base} (${reason})`)];
    return [
      failed('server', `${base} does not answer: ${reason}`, 'Start it, or correct --url or ROLLCALL_URL.'),
    ];
  }
}

interface Answer {
  readonly status: number;
  readonly date: string | null;
}

async function get(url: string): Promise<Answer> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  await answer.arrayBuffer();
  return { status: answer.status, date: answer.headers.get('date') };
}

function answerCheck(what: 'alive' | 'ready', base: string, { status }: Answer): Check {
  const name = `server ${what}`;
  if (status === 200) return ok(name, base);
  return failed(name, `${base} answers ${status}`, "Read the server's log; is it a Rollcall server?");
}

/** Hosts sign tokens by their own clocks: beyond the tolerance the server rejects their tokens. */
function dateCheck({ date }: Answer): Check {
  const name = 'server clock';
  const differenceMs = date === null ? Number.NaN : Math.abs(Date.parse(date) - Date.now());
  if (Number.isNaN(differenceMs)) return skipped(name, 'the server sends no Date');
  const found = `${Math.round(differenceMs / 1_000)} s from this machine's`;
  return differenceMs <= CLOCK_TOLERANCE_MS + DATE_RESOLUTION_MS
    ? ok(name, found)
    : failed(name, found, 'Set both clocks (NTP): tokens signed ahead of the server are rejected.');
}
