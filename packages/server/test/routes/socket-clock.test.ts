/** What a socket holds when time jumps: a machine was suspended, or its clock was set. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PresenceEntry } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import { expectOk } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import { SocketClient } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';

const clock = new MovedClock(Date.now());
const server = oneServer({ clock });
const AT = { page: '1' };
const THERE = { page: '2' };

test('held presence needs no refreshing: what expired while no time passed for the server is set again', async () => {
  const project = await server.projectWithGroup('g', 'a', 'b');
  const isPresent = async (userId: string) => {
    const reading = await project.get(`/v1/users/${userId}/presence?groupID=g`);
    return reading.json<PresenceEntry>().ephemeral.locations.length > 0;
  };
  using socket = await SocketClient.of(project, 'a', 'g');
  await socket.ok('present', { location: AT });
  expectOk(await Browser.of(project, 'b', 'g').putPresence({ location: THERE }));
  clock.jump(31_000);
  // A sweep: it drops what has expired.
  clock.move(250);
  assert.deepEqual([await isPresent('a'), await isPresent('b')], [false, false]);
  await until('the location is held again', () => {
    clock.move(1_000);
    return isPresent('a');
  });
  assert.equal(await isPresent('b'), false, 'nobody holds it');
});

test('held presence that is set again has its data and its exclusive region', async () => {
  const project = await server.projectWithGroup('g', 'a');
  const held = async () => {
    const reading = await project.get('/v1/users/a/presence?groupID=g&expand=data');
    const { locations, data } = reading.json<PresenceEntry>().ephemeral;
    return { locations, data };
  };
  const exclusiveWithin = { doc: 'd' };
  const [first, second] = [
    { ...AT, ...exclusiveWithin },
    { ...THERE, ...exclusiveWithin },
  ];
  using socket = await SocketClient.of(project, 'a', 'g');
  await socket.ok('present', { location: first, exclusiveWithin, data: { x: 1 } });
  // Data that an update does not name stay, and are set again too.
  await socket.ok('present', { location: first, exclusiveWithin });
  clock.jump(31_000);
  clock.move(250);
  assert.deepEqual((await held()).locations, []);
  await until('the location is held again', async () => {
    clock.move(1_000);
    return (await held()).locations.length > 0;
  });
  assert.deepEqual(await held(), { locations: [first], data: [{ x: 1 }] });
  await socket.ok('present', { location: second, exclusiveWithin });
  assert.deepEqual((await held()).locations, [second]);
});
