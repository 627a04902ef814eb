import { limits } from '@rollcall/protocol';
import type { ServerLocation } from '../server-url.ts';
import { type Check, failed, ok, skipped } from './check.ts';

/** A server that takes longer to say that it is alive is not well. */
const ANSWER_LIMIT_MS = 5_000;
/** The Date header has whole seconds. */
const DATE_RESOLUTION_MS = 1_000;

/** Asks a server whether it is alive, ready and of our time. One that the operator did not name need not run. */
export async function serverChecks(server: ServerLocation | null): Promise<Check[]> {
  if (server === null) return [skipped('server', 'ROLLCALL_PORT is 0: name a running server with --url')];
  const base = server.url.replace(/\/+$/, '');
  try {
    const alive = await ask(`${base}/healthz`);
    return [
      answerCheck('alive', base, alive),
      answerCheck('ready', base, await ask(`${base}/readyz`)),
      dateCheck(alive),
    ];
  } catch (error) {
    const reason = reasonOf(error);
    if (!server.isNamed) return [skipped('server', `none at ${base} (${reason})`)];
    return [
      failed('server', `${base} does not answer: ${reason}`, 'Start it, or correct --url or ROLLCALL_URL.'),
    ];
  }
}

interface Asked {
  readonly status: number;
  readonly date: string | null;
}

async function ask(url: string): Promise<Asked> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  await answer.arrayBuffer();
  return { status: answer.status, date: answer.headers.get('date') };
}

function answerCheck(what: 'alive' | 'ready', base: string, { status }: Asked): Check {
  const name = `server ${what}`;
  if (status === 200) return ok(name, base);
  return failed(name, `${base} answers ${status}`, "Read the server's log; is it a Rollcall server?");
}

/** Hosts sign tokens by their own clock: one that differs by more than the tolerance has them refused. */
function dateCheck({ date }: Asked): Check {
  const name = 'server clock';
  const differenceMs = date === null ? Number.NaN : Math.abs(Date.parse(date) - Date.now());
  if (Number.isNaN(differenceMs)) return skipped(name, 'the server does not tell its time');
  const found = `${Math.round(differenceMs / 1_000)} s from this machine's`;
  return differenceMs <= limits.CLOCK_TOLERANCE_SECONDS * 1_000 + DATE_RESOLUTION_MS
    ? ok(name, found)
    : failed(name, found, 'Set both clocks (NTP): tokens signed ahead of the server are refused.');
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
