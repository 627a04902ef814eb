/**
 * Two processes on one database. Credentials are revoked through one, which cannot publish it; streams and sockets are open on the
 * other. They end within 2 s, from the record of changes.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clientToken } from '../support/browser.ts';
import { closing } from '../support/closing.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { type Answer, send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import type { MovedClock } from '../support/moved-clock.ts';
import { skipsPostgres } from '../support/postgres.ts';
import { Project } from '../support/project-client.ts';
import { skipsRedis } from '../support/redis.ts';
import type { TestServer } from '../support/server.ts';
import { SocketClient } from '../support/socket-client.ts';
import { StreamReader, together } from '../support/stream-reader.ts';
import { within } from '../support/waiting.ts';
import { type Cut, passSeconds, withTwoProcesses } from './two-processes.ts';

const LIMIT_S = 2;
const PATHS = ['/v1/groups/g/presence', '/v1/threads?groupID=g', '/v1/changes'];
/** Each second one stream of each kind is checked without a reason: among so many, few within the limit. */
const STREAMS = 20;
const SOCKETS = 8;

interface World {
  readonly project: Project;
  readonly reader: TestServer;
  readonly writer: TestServer;
  readonly clock: MovedClock;
  readonly cut: () => void;
}

const cuts: Readonly<Record<string, Cut>> = {
  'while no process reaches Redis': 'both',
  'when the message is lost': 'writer',
};

const withWorld = (cut: Cut, use: (world: World) => Promise<void>) =>
  withTwoProcesses(cut, async ({ reader, writer, clock, proxy }) => {
    await using project = closing(Project.of(reader));
    await project.seedGroup('g', 'a');
    await use({ project, reader, writer, clock, cut: () => proxy.cut() });
  });

/** Moves the clock by the limit. */
const pass = ({ clock, writer }: World) => passSeconds(clock, LIMIT_S, () => asCustomer(writer, 'GET', ''));

const asCustomer = (
  { url, customerToken }: TestServer,
  method: string,
  path: string,
  body?: string,
): Promise<Answer> =>
  send(url, method, `/v1/projects${path}`, {
    headers: { authorization: `Bearer ${customerToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });

async function openStreams(project: Project, token: string, paths = PATHS) {
  const headers = { authorization: `Bearer ${token}` };
  const all = paths.flatMap((path) => Array.from({ length: STREAMS }, () => path));
  const streams = await together(all.map((path) => StreamReader.open(project, path, headers)));
  for (const { status, text } of streams) assert.equal(status, 200, text);
  return streams;
}

async function openSockets({ project, clock }: World): Promise<SocketClient[]> {
  const token = clientToken(project, { user_id: 'a' }, clock.now());
  return await Promise.all(
    Array.from({ length: SOCKETS }, async () => {
      const socket = await SocketClient.open(project.url);
      await socket.ok('auth', { token });
      return socket;
    }),
  );
}

async function issueToken({ reader, project, clock }: World): Promise<string> {
  const appToken = jwt({ app_id: project.id, iat: seconds(clock.now()) }, project.secret);
  const issued = await send(reader.url, 'POST', '/v1/authorize', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ signed_app_token: appToken }),
  });
  return expectOk<{ access_token: string }>(issued).access_token;
}

async function assertEnded(streams: readonly StreamReader[], code: string): Promise<void> {
  await within(
    LIMIT_S * 1_000,
    Promise.all(streams.map((stream) => stream.ended())),
    'the end of the streams',
  );
  for (const stream of streams) assert.equal(stream.of('error').at(-1)?.data.error, code, stream.text);
}

const skip = skipsPostgres || (await skipsRedis());

for (const [when, cut] of Object.entries(cuts)) {
  describe(`revoked credentials ${when}`, { skip }, () => {
    for (const [what, revoke, code] of [
      [
        'a secret was rotated with overlap_seconds 0',
        ({ writer, project }: World) =>
          asCustomer(writer, 'POST', `/${project.id}/rotate-secret`, '{"overlap_seconds":0}'),
        'invalid_project_token',
      ],
      [
        'the project was deleted',
        ({ writer, project }: World) => asCustomer(writer, 'DELETE', `/${project.id}`),
        'project_not_found',
      ],
    ] as const) {
      test(`streams and sockets end within 2 s after ${what}`, () =>
        withWorld(cut, async (world) => {
          const { project } = world;
          using streams = await openStreams(project, project.token);
          const sockets = await openSockets(world);
          await pass(world);
          // The token was verified a moment ago.
          expectOk(await project.get('/v1/groups/g'));
          world.cut();
          expectOk(await revoke(world));
          await pass(world);
          await assertEnded(streams, code);
          const closed = Promise.all(sockets.map((socket) => socket.closed()));
          for (const close of await within(LIMIT_S * 1_000, closed, 'the close of the sockets'))
            assert.deepEqual(close, { code: 4401, reason: code });
        }));
    }

    test('streams of an access token end within 2 s after DELETE /v1/authorize, and no others', () =>
      withWorld(cut, async (world) => {
        const { project, writer } = world;
        const [revoked, other] = [await issueToken(world), await issueToken(world)];
        using streams = await openStreams(project, revoked);
        using others = await openStreams(project, other);
        await pass(world);
        world.cut();
        const headers = { authorization: `Bearer ${revoked}` };
        expectDone(await send(writer.url, 'DELETE', '/v1/authorize', { headers }));
        await pass(world);
        await assertEnded(streams, 'expired_access_token');
        for (const stream of others) assert.equal(stream.hasEnded, false);
      }));

    test('streams of a project without changes end within 2 s after it was deleted', () =>
      withWorld(cut, async (world) => {
        const { reader, writer, clock } = world;
        await using project = closing(await Project.create(reader.url, reader.customerToken, clock.now()));
        using streams = await openStreams(project, project.token, ['/v1/changes']);
        await pass(world);
        world.cut();
        expectDone(await asCustomer(writer, 'DELETE', `/${project.id}`));
        await pass(world);
        await assertEnded(streams, 'project_not_found');
      }));

    test('a stream that is opened after the first ones, with a token that was verified before it was revoked, ends within 2 s', () =>
      withWorld(cut, async (world) => {
        const { project, writer, clock } = world;
        const [valid, revoked] = [await issueToken(world), await issueToken(world)];
        using _streams = await openStreams(project, valid, ['/v1/changes']);
        await pass(world);
        clock.move(900);
        const headers = { authorization: `Bearer ${revoked}` };
        expectOk(await project.get('/v1/groups/g', headers));
        world.cut();
        expectDone(await send(writer.url, 'DELETE', '/v1/authorize', { headers }));
        clock.move(100);
        // The process has read the record, and still knows the token.
        for (let reading = 0; reading < 20; reading += 1)
          assert.equal((await asCustomer(writer, 'GET', '')).status, 200);
        using late = await StreamReader.open(project, '/v1/changes', headers);
        await pass(world);
        await assertEnded([late], 'expired_access_token');
      }));
  });
}
