import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { closedAfterTests } from '../../server/test/support/closing.ts';
import { jwt, seconds } from '../../server/test/support/jwt.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { SlowProxy } from '../../server/test/support/slow-proxy.ts';
import {
  NOBODY,
  type PresenceEvent,
  type PresenceState,
  type PresenceWatch,
  presenceAfter,
  Rollcall,
  RollcallClient,
  RollcallError,
} from '../src/index.ts';

const server = oneServer();
const A = { page: 'a', part: '1' };
const B = { page: 'a', part: '2' };
const C = { page: 'c', part: '1' };
let project: Project;

before(async () => {
  await server.started;
  project = await server.project();
  const members = ['ada', 'bob', 'cy', 'dee'];
  const groups = ['g', 'cut'].map((id) => ({ id, name: 'G', members }));
  await project.seed({ users: members.map((id) => ({ id })), groups });
});

const closedAfter = closedAfterTests();
const host = (url = project.url) => closedAfter(new Rollcall({ url, token: project.token }));

const next = async (watch: PresenceWatch): Promise<PresenceEvent> => {
  const { done, value } = await watch.next();
  assert.ok(!done, 'the stream ended');
  return value as PresenceEvent;
};

/** Reads events until the state is as wanted. */
async function follow(
  watch: PresenceWatch,
  isReached: (state: PresenceState) => boolean,
): Promise<PresenceState> {
  let state = NOBODY;
  while (!isReached(state)) state = presenceAfter(state, await next(watch));
  return state;
}

const locationsOf = (state: PresenceState, id: string) => state.get(id)?.ephemeral.locations ?? [];

test('a watch yields arrivals, moves, durable locations and departures as they happen', async () => {
  const rollcall = host();
  const watch = rollcall.presence.watch({ groupID: 'g' });
  assert.deepEqual(await next(watch), { type: 'snapshot', users: [] });
  const exclusiveWithin = { page: 'a' };
  await rollcall.presence.put('ada', { groupID: 'g', location: A, exclusiveWithin });
  assert.deepEqual(await next(watch), { type: 'arrived', id: 'ada', location: A });
  await rollcall.presence.put('ada', { groupID: 'g', location: B, exclusiveWithin });
  assert.deepEqual(await next(watch), { type: 'arrived', id: 'ada', location: B, from: A });
  await rollcall.presence.put('bob', { groupID: 'g', location: C, durable: true });
  const durable = await next(watch);
  assert.ok(durable.type === 'durable' && durable.id === 'bob' && Date.parse(durable.timestamp) > 0);
  await rollcall.presence.put('ada', { groupID: 'g', location: B, absent: true });
  assert.deepEqual(await next(watch), { type: 'departed', id: 'ada', location: B, reason: 'absent' });
});

test('a watch with a filter yields departed with moved when the user moves out of the filter', async () => {
  const rollcall = host();
  const watch = rollcall.presence.watch({
    groupID: 'g',
    location: { page: 'a' },
    partialMatch: true,
    excludeDurable: true,
  });
  assert.deepEqual(await next(watch), { type: 'snapshot', users: [] });
  const exclusiveWithin = { part: '1' };
  await rollcall.presence.put('cy', { groupID: 'g', location: A, exclusiveWithin });
  assert.deepEqual(await next(watch), { type: 'arrived', id: 'cy', location: A });
  await rollcall.presence.put('cy', { groupID: 'g', location: C, exclusiveWithin });
  assert.deepEqual(await next(watch), { type: 'departed', id: 'cy', location: A, reason: 'moved' });
  await rollcall.presence.put('cy', { groupID: 'g', location: C, absent: true });
});

test('a watch whose connection is cut resumes without missing an event', async () => {
  await SlowProxy.with(project.url, async (proxy, url) => {
    const reader = host(url);
    const writer = host();
    const watch = reader.presence.watch({ groupID: 'cut' });
    await writer.presence.put('ada', { groupID: 'cut', location: A });
    let state = await follow(watch, (reached) => locationsOf(reached, 'ada').length === 1);
    proxy.cut();
    proxy.mend();
    await writer.presence.put('dee', { groupID: 'cut', location: B });
    await writer.presence.put('ada', { groupID: 'cut', location: A, absent: true });
    const types: string[] = [];
    while (locationsOf(state, 'ada').length > 0 || !state.has('dee')) {
      const event = await next(watch);
      types.push(event.type);
      state = presenceAfter(state, event);
    }
    assert.deepEqual(types, ['arrived', 'departed'], 'it resumes without a snapshot');
    await writer.presence.put('dee', { groupID: 'cut', location: B, absent: true });
  });
});

describe('a stream with a client token', () => {
  const asUser = (id: string, socket = true) => {
    const claims = { project_id: project.id, user_id: id, group_id: 'g', iat: seconds(Date.now()) };
    const token = jwt(claims, project.secret);
    return closedAfter(new RollcallClient({ url: project.url, token, socket }));
  };

  const endsWith = (watch: PresenceWatch, code: string) =>
    assert.rejects(
      async () => {
        for await (const _ of watch);
      },
      (error) => error instanceof RollcallError && error.code === code,
    );

  test('a stream with a client token yields the events of other users', async () => {
    const client = asUser('bob');
    const watch = client.presence.watch({ excludeDurable: true });
    const announcement = asUser('ada').presence.announce({ location: A });
    await follow(watch, (state) => locationsOf(state, 'ada').length === 1);
    await announcement.leave();
    await follow(watch, (state) => !state.has('ada'));
  });

  test('a page whose locks are null, as those of happy-dom, watches over HTTP', async (context) => {
    const page = globalThis as { document?: object };
    page.document = {};
    context.after(() => delete page.document);
    context.mock.getter(navigator, 'locks', () => null);
    assert.equal((await next(asUser('ada', false).presence.watch())).type, 'snapshot');
  });

  test('a stream with a client token ends with user_not_found when its user is set deleted, and a new one is rejected', async () => {
    const rollcall = host();
    const client = asUser('dee');
    const watch = client.presence.watch();
    await next(watch);
    await rollcall.users.put('dee', { status: 'deleted' });
    await endsWith(watch, 'user_not_found');
    await endsWith(client.presence.watch(), 'user_not_found');
    assert.equal((await client.presence.announce({ location: A }).ended)?.code, 'user_not_found');
  });

  test('a stream with a client token ends with group_not_found when its user leaves the group', async () => {
    const rollcall = host();
    const watch = asUser('cy').presence.watch();
    await next(watch);
    await rollcall.groups.changeMembers('g', { remove: ['cy'] });
    await endsWith(watch, 'group_not_found');
  });
});

test('a stream of a group that does not exist is rejected with group_not_found', async () => {
  await assert.rejects(host().presence.watch({ groupID: 'nowhere' }).next(), {
    code: 'group_not_found',
    status: 401,
  });
});
