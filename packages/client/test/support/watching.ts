/** A watch of presence on a server that follows a script. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { PresenceEvent, PresenceWatch, Rollcall, RollcallError, WatchOptions } from '../../src/index.ts';
import { type Script, type ScriptedServer, withScriptedClient } from './scripted-server.ts';
import { written } from './scripted-streams.ts';

export const arrived = (id: string, user: string) =>
  written(id, 'arrived', { id: user, location: { page: 'a' } });
export const SNAPSHOT = written('e:0', 'snapshot', { users: [] });

export interface Watching {
  readonly watch: PresenceWatch;
  readonly server: ScriptedServer;
  readonly rollcall: Rollcall;
  /** The calls of `onRetry`. */
  readonly retries: { readonly error: RollcallError; readonly delayMs: number }[];
}

export const watching = <Result>(
  script: Script,
  use: (watching: Watching) => Promise<Result>,
  { token = () => 'a.b.c', ...options }: Partial<WatchOptions> & { token?: () => string } = {},
) =>
  withScriptedClient(
    script,
    (rollcall, server) => {
      const retries: Watching['retries'] = [];
      const onRetry = (error: RollcallError, delayMs: number) => retries.push({ error, delayMs });
      const watch = rollcall.presence.watch({ groupID: 'g', onRetry, ...options });
      return use({ watch, server, rollcall, retries });
    },
    { token },
  );

/** A connection that is open for longer has not failed at its start. */
const SETTLED_MS = 2_000;

/** Moves the client's clock on by more than {@link SETTLED_MS} with each call. */
export function settling({ mock }: TestContext): () => void {
  const { now } = performance;
  let aheadMs = 0;
  mock.method(performance, 'now', () => now.call(performance) + aheadMs);
  return () => {
    aheadMs += SETTLED_MS + 1;
  };
}

/** The next events, in short: `arrived ada`. */
export async function take(watch: PresenceWatch, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) {
    const { done, value } = await watch.next();
    assert.ok(!done, `the stream ended after ${taken.join(', ')}`);
    taken.push(short(value as PresenceEvent));
  }
  return taken;
}

const short = (event: PresenceEvent) =>
  event.type === 'snapshot' ? event.type : `${event.type} ${event.id}`;
