/** The end of a socket's token: when it is announced, and when the socket is closed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { clientToken } from '../support/browser.ts';
import { seconds } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { SocketClient } from '../support/socket-client.ts';

const TOLERANCE = limits.CLOCK_TOLERANCE_SECONDS;
const clock = new MovedClock();
// The clock passes a minute while a socket sends nothing.
const server = oneServer({ clock, settings: { socketTimeoutSeconds: 300 } });

const seeded = () => server.projectWithGroup('g', 'a');

/** A token that ends in so many seconds. */
const tokenFor = (project: Project, left: number) => {
  const now = clock.now();
  return clientToken(project, { user_id: 'a', exp: seconds(now) + left }, now - 1_000 * TOLERANCE);
};

const move = (secondsLater: number) => clock.move(secondsLater * 1_000);

/** How many seconds were announced, by all events until now: an answer comes after what was sent before it. */
async function announced(socket: SocketClient): Promise<number[]> {
  await socket.fails('invalid_field', 'unwatch', { watch: 0 });
  return socket.frames.filter(({ event }) => event === 'expiring').map(({ in: left }) => left);
}

describe("the end of a socket's token", () => {
  test('a token with less than 60 s left is announced with expiring at once, and its exp closes the socket with 4401', async () => {
    const project = await seeded();
    using socket = await SocketClient.open(project.url);
    await socket.ok('auth', { token: tokenFor(project, 20) });
    assert.deepEqual(await announced(socket), [20]);
    move(19);
    assert.deepEqual(await announced(socket), [20], 'still open a second before, and announced once');
    move(1);
    await socket.closes(4401, 'the token has ended');
  });

  test('expiring comes 60 s before the end of a token, and not before', async () => {
    const project = await seeded();
    using socket = await SocketClient.open(project.url);
    await socket.ok('auth', { token: tokenFor(project, 100) });
    move(39);
    assert.deepEqual(await announced(socket), []);
    move(1);
    assert.deepEqual(await announced(socket), [60]);
    move(59);
    assert.deepEqual(await announced(socket), [60]);
    move(1);
    await socket.closes(4401, 'the token has ended');
  });

  test('a token without exp ends when it is a day old', async () => {
    const project = await seeded();
    using socket = await SocketClient.open(project.url);
    const issuedAt = clock.now() - (limits.TOKEN_MAX_AGE_SECONDS - 10) * 1_000;
    await socket.ok('auth', { token: clientToken(project, { user_id: 'a' }, issuedAt) });
    move(10);
    assert.equal((await announced(socket)).length, 1);
    move(1);
    await socket.closes(4401, 'the token has ended');
  });

  test('a renewed token moves the end of the socket, and its own end is announced', async () => {
    const project = await seeded();
    using socket = await SocketClient.open(project.url);
    await socket.ok('auth', { token: tokenFor(project, 10) });
    move(5);
    await socket.ok('auth', { token: tokenFor(project, 70) });
    assert.deepEqual(await announced(socket), [10]);
    move(10);
    assert.deepEqual(await announced(socket), [10, 60]);
    move(59);
    assert.deepEqual(await announced(socket), [10, 60]);
    move(1);
    await socket.closes(4401, 'the token has ended');
  });

  test('a token past its exp logs in within the tolerance for clocks, and is closed with 4401 at the end of the tolerance', async () => {
    const project = await seeded();
    using socket = await SocketClient.open(project.url);
    await socket.fails('invalid_project_token', 'auth', { token: tokenFor(project, -TOLERANCE) });
    await socket.ok('auth', { token: tokenFor(project, 10 - TOLERANCE) });
    assert.deepEqual(await announced(socket), [10]);
    move(9);
    assert.deepEqual(await announced(socket), [10]);
    move(1);
    await socket.closes(4401, 'the token has ended');
  });
});
