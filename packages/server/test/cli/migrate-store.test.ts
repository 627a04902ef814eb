/** A whole installation moves to another store, the way docs/operations.md says, and back. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { StoreSettings } from '../../src/wiring.ts';
import { exportText, partOfRealRoster, syncText } from '../roster/roster-cli.ts';
import { closing } from '../support/closing.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { BY_TEST } from '../support/origin.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project, segment } from '../support/project-client.ts';
import { type TestServer, withDataDir } from '../support/server.ts';
import { migrate, serverAt } from './migrate-store.ts';
import { bringBack, converse, readConversation, withToken } from './migrated-conversation.ts';
import { embedded, exportedBy, withOpenStore } from './stores.ts';

/** A project as its host knows it, on whatever server it is. */
interface Known {
  readonly id: string;
  readonly secret: string;
}

async function withProject<Result>(
  { url }: TestServer,
  { id, secret }: Known,
  use: (project: Project) => Promise<Result>,
): Promise<Result> {
  await using project = closing(
    new Project(url, id, secret, jwt({ project_id: id, iat: seconds(Date.now()) }, secret)),
  );
  return await use(project);
}

/** A project that only the store knows: no setting of a server makes it. */
async function createProject({ url, customerToken }: TestServer): Promise<Known> {
  const headers = { authorization: `Bearer ${customerToken}`, 'content-type': 'application/json' };
  const made = await send(url, 'POST', '/v1/projects', { headers, body: '{"name":"Acme"}' });
  return made.json<Known>();
}

async function authorize(project: Project): Promise<string> {
  const app = jwt({ app_id: project.id, iat: seconds(Date.now()) }, project.secret);
  const answer = await project.post('/v1/authorize', { signed_app_token: app });
  return expectOk<{ access_token: string }>(answer).access_token;
}

/** Something of all that a roster does not have, for users and a group that exist. */
async function useService(
  project: Project,
  settings: StoreSettings,
  group: string,
  users: readonly string[],
) {
  const [one = '', two = '', three = ''] = users;
  const channels = { key: 'notification_channels', value: { sendViaEmail: false } };
  expectDone(await project.put(`/v1/users/${segment(one)}/preferences`, channels), one);
  const presence = new Presence(project);
  const at = async (user: string, location: Record<string, string>) => {
    const body = { groupID: group, location, durable: true };
    expectDone(await presence.put(user, body), user);
  };
  await at(one, { page: '1', site: 's' });
  await at(one, { page: '2', site: 's' });
  await at(two, { page: '1', 'odd "key"': '\u{1f600}\\' });
  await at(three, { page: '3' });
  expectDone(await project.put(`/v1/users/${segment(three)}`, { status: 'deleted' }), three);
  await withOpenStore(settings, async (store) => {
    const found = await store.projects.find(project.id);
    assert.ok(found);
    const context = { now: Date.now(), revision: 'connected', ...BY_TEST };
    assert.equal((await store.groups.connect(found.key, group, 'T024BE7LD', context)).kind, 'updated');
  });
  await converse(project, group, users);
  const [live, revoked] = [await authorize(project), await authorize(project)];
  expectOk(await project.delete('/v1/authorize', withToken(revoked)));
  return { live, revoked };
}

/** What hosts read of all that was transferred. */
async function readService(project: Project, group: string, users: readonly string[], tokens: string[]) {
  const presence = new Presence(project);
  const preferences = users.map((user) => project.get(`/v1/users/${segment(user)}/preferences`));
  const sessions = tokens.map((token) => project.get(`/v1/groups/${segment(group)}`, withToken(token)));
  const shown = await project.get(`/v1/groups/${segment(group)}`);
  return {
    conversation: await readConversation(project, users),
    roster: await exportText(project),
    group: shown.text,
    etag: shown.headers.etag,
    users: await project.users(),
    entries: await presence.everyone(group),
    found: (await presence.page({ location: '{"site":"s"}', partial_match: 'true' }, group)).users,
    preferences: (await Promise.all(preferences)).map(({ text }) => text),
    sessions: (await Promise.all(sessions)).map(({ status, text }) => (status === 200 ? 200 : text)),
  };
}

const ROSTER = [
  ...['ann', 'bob', 'cid d/e', '\u{1f600}'].map((id) => ({ type: 'user', id, email: 'x@example.org' })),
  { type: 'group', id: 'g/1', name: 'G', members: ['ann', 'bob', 'cid d/e'] },
  { type: 'group', id: 'h', name: 'H', status: 'deleted', members: ['ann'] },
];
const USERS = ['ann', 'bob', 'cid d/e'];

/** A roster in a project, something of everything in one of its groups, and what hosts read of it. */
function stock(settings: StoreSettings, roster: string, group: string, users: readonly string[]) {
  return serverAt(settings, async (server) => {
    const known = await createProject(server);
    return withProject(server, known, async (project) => {
      assert.equal((await syncText(project, roster)).code, 0);
      const { live, revoked } = await useService(project, settings, group, users);
      const tokens = [live, revoked];
      return { known, tokens, read: await readService(project, group, users, tokens) };
    });
  });
}

describe('rollcall migrate-store', () => {
  test('migrate-store copies a whole embedded store, and hosts read the same from the new server', () =>
    withDataDir(async (directory) => {
      const [from, to] = [embedded(join(directory, 'from')), embedded(join(directory, 'not yet', 'to'))];
      const roster = ROSTER.map((item) => JSON.stringify(item)).join('\n');
      const { known, tokens, read } = await stock(from, roster, 'g/1', USERS);
      assert.equal(read.sessions[0], 200);
      assert.match(String(read.sessions[1]), /expired_access_token/);
      assert.equal(read.entries.length, 2, 'the user set deleted is not shown');
      const { records } = await migrate(from, to);
      assert.deepEqual(records, {
        ...{ service_keys: 1, customers: 1, projects: 2, sessions: 2, webhooks: 0, users: 4, groups: 2 },
        ...{ memberships: 4, durable_presence: 4, threads: 2, participants: 2, messages: 3 },
      });
      assert.deepEqual(await exportedBy(to), await exportedBy(from));
      const after = await serverAt(to, (server) =>
        withProject(server, known, async (project) => {
          const found = await readService(project, 'g/1', USERS, tokens);
          assert.equal(await bringBack(project), 'hidden no more');
          return found;
        }),
      );
      assert.deepEqual(after, read);
    }));
});

describe('rollcall migrate-store between engines', () => {
  const options = { skip: skipsPostgres };
  test('a real roster is the same after migrate-store to PostgreSQL and back', options, () =>
    withDatabase((databaseUrl) =>
      withDataDir(async (directory) => {
        const from = embedded(join(directory, 'one'));
        const between = { dataDir: join(directory, 'none'), databaseUrl };
        const to = embedded(join(directory, 'other'));
        const roster = await partOfRealRoster();
        const group = 'section/python';
        const { known, tokens, read } = await stock(from, roster, group, membersOf(roster, group));
        await migrate(from, between);
        await migrate(between, to);
        const records = await exportedBy(from);
        assert.deepEqual(await exportedBy(between), records);
        assert.deepEqual(await exportedBy(to), records);
        for (const settings of [between, to]) {
          const found = await serverAt(settings, (server) =>
            withProject(server, known, (project) =>
              readService(project, group, membersOf(roster, group), tokens),
            ),
          );
          assert.deepEqual(found, read);
        }
      }),
    ),
  );
});

/** The first members of a group of a roster. */
function membersOf(roster: string, group: string): string[] {
  const line = roster.split('\n').find((text) => text.includes(`"${group}"`)) ?? '{}';
  return (JSON.parse(line) as { members: string[] }).members.toSorted().slice(0, 3);
}
