/** Two processes on one database. The way to Redis of one of them, or of both, can be cut. */
import { expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { withDatabase } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { freshRedisUrl } from '../support/redis.ts';
import { type TestServer, withServer } from '../support/server.ts';
import { SlowProxy } from '../support/slow-proxy.ts';

interface TwoProcesses<Process> {
  readonly writer: Process;
  /** The process with the streams. */
  readonly reader: Process;
  readonly proxy: SlowProxy;
  /** Of both. */
  readonly clock: MovedClock;
  readonly databaseUrl: string;
}

/** Who reaches Redis through the proxy. */
export type Cut = 'writer' | 'both';

export const withTwoProcesses = (cut: Cut, use: (world: TwoProcesses<TestServer>) => Promise<void>) =>
  withDatabase(async (databaseUrl) => {
    const redisUrl = freshRedisUrl();
    await SlowProxy.with(redisUrl, async (proxy, throughProxy) => {
      const clock = new MovedClock();
      const writing = { clock, settings: { databaseUrl, redisUrl: throughProxy } };
      const reading = cut === 'both' ? writing : { clock, settings: { databaseUrl, redisUrl } };
      await withServer(reading, (reader) =>
        withServer(writing, (writer) => use({ writer, reader, proxy, clock, databaseUrl })),
      );
    });
  });

export type PresenceWorld = TwoProcesses<Presence>;

/** The users a, b, c and d are present in the group g, each at a line and durably at a paragraph. */
export const withPresence = (cut: Cut, use: (world: PresenceWorld) => Promise<void>) =>
  withTwoProcesses(cut, async (processes) => {
    const reader = new Presence(Project.of(processes.reader));
    const writer = new Presence(Project.of(processes.writer));
    const ids = ['a', 'b', 'c', 'd'];
    await reader.project.seedGroup('g', ...ids);
    for (const id of ids) {
      await reader.set(id, { page: '1', line: id });
      await reader.set(id, { page: '1', paragraph: id }, { durable: true });
    }
    await use({ ...processes, writer, reader });
    for (const { project } of [writer, reader]) project.close();
  });

/** Moves the clock second by second. After each the processes have time to read the store: as long as a few requests take. */
export async function passSeconds(clock: MovedClock, seconds: number, request: () => Promise<Answer>) {
  for (let second = 0; second < seconds; second += 1) {
    clock.move(1_000);
    for (let reading = 0; reading < 20; reading += 1) expectOk(await request());
  }
}
