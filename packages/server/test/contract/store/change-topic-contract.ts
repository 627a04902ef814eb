/** Records that are found by their topic, without those besides. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CREDENTIALS_TOPIC,
  conversationTopic,
  presenceTopic,
  type Topic,
  topicOfRecord,
  USERS_TOPIC,
} from '../../../src/store/changes/change-topics.ts';
import type { ChangeRecord } from '../../../src/store/ports/changes.ts';
import { orderAll, recordsAfter } from '../../support/recorded.ts';
import { plain } from './conversation.ts';
import { changeTexts } from './entries.ts';
import { numbered, type Roster, START, unique } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

/** Texts that have to be escaped within JSON, and one that looks like a part of a record. */
const HOSTILE = ['g"', 'g\\', 'g\\"}', '","type":"user.removed"', '[{"type":"thread.x', '\u{1f600}', '%_'];

const textsOf = (records: readonly ChangeRecord[]) => records.flatMap(({ changes }) => changeTexts(changes));

async function readTopics(roster: Roster, topics: readonly Topic[], after = 0, limit = 1_000) {
  await orderAll(roster.store);
  const { records } = await roster.store.changes.readTopics(roster.key, topics, after, limit);
  return records;
}

export function changeTopicContract(lab: StoreLab): void {
  async function stock(): Promise<Roster> {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob', 'cid');
    await roster.groupOf('h', 'ann', 'bob');
    return roster;
  }

  test('changes of members, of the status and of durable presence are found by the group', async () => {
    const roster = await stock();
    const context = roster.next();
    const location = '{"p":"1"}';
    const update = { userId: 'ann', groupId: 'g', region: location, location };
    await roster.store.durablePresence.put(roster.key, update, context);
    await roster.putGroup('g', { name: 'New name' });
    await roster.changeMembers('g', { remove: ['bob'] });
    await roster.putGroup('g', { name: 'Other', status: 'deleted' });
    await roster.changeMembers('h', { remove: ['bob'] });
    const found = await readTopics(roster, [presenceTopic('g')]);
    assert.deepEqual(textsOf(found), [
      'durable_presence.moved g ann',
      'member.removed g bob',
      'group.updated g name',
      'group.deactivated g',
    ]);
    assert.deepEqual(textsOf(await readTopics(roster, [presenceTopic('h')])), ['member.removed h bob']);
  });

  test('users who were set deleted or active, removed, or shown otherwise are found together, and other updates are not', async () => {
    const roster = await stock();
    await roster.putUser('ann', { name: 'Ann' });
    await roster.putUser('ann', { email: 'ann@x.example', short_name: 'name' });
    await roster.putUser('bob', { email: 'b@x.example', profile_picture_url: 'https://x.example/b' });
    await roster.putUser('ann', { status: 'deleted' });
    await roster.putUser('bob', { status: 'deleted', name: 'Bob' });
    await roster.putUser('ann', { status: 'active' });
    await roster.deleteUser('bob');
    assert.deepEqual(textsOf(await readTopics(roster, [USERS_TOPIC])), [
      'user.updated ann name',
      'user.updated bob email',
      'user.updated bob profile_picture_url',
      'user.deactivated ann',
      'user.updated bob name',
      'user.deactivated bob',
      'user.activated ann',
      'member.removed g bob',
      'member.removed h bob',
      'user.removed bob',
    ]);
  });

  test('a rotated secret and a revoked access token are found together, and other changes of credentials are not', async () => {
    const roster = await stock();
    const { key, store } = roster;
    const id = unique('session');
    await store.sessions.create(key, { id, expiresAt: START + 1_000 }, roster.next());
    await store.projects.rename(key, 'Other', roster.next());
    await store.projects.rotateSecret(key, { secret: 's', previousValidUntil: START }, roster.next());
    await store.sessions.revoke(key, id, roster.next());
    const found = textsOf(await readTopics(roster, [CREDENTIALS_TOPIC]));
    assert.deepEqual(found, ['project.secret_rotated', 'access_token.revoked']);
    const besides = [USERS_TOPIC, presenceTopic('g'), conversationTopic('g')];
    assert.ok(!textsOf(await readTopics(roster, besides)).some((text) => found.includes(text)));
  });

  test('threads and messages are found by their group, apart from its presence', async () => {
    const roster = await stock();
    const { threads, messages } = roster.store;
    await threads.put(roster.key, 't', { groupId: 'g', name: 'T' }, roster.next());
    await messages.put(roster.key, 't', 'm', { authorId: 'ann', content: plain('Hi') }, roster.next());
    const found = await readTopics(roster, [conversationTopic('g')]);
    assert.deepEqual(textsOf(found).sort(), ['message.created g t m', 'thread.created g t'].sort());
    assert.deepEqual(await readTopics(roster, [presenceTopic('g'), conversationTopic('h')]), []);
  });

  test('a batch that concerns several groups is found by each of them, and its changes are adjacent', async () => {
    const roster = await stock();
    await roster.batch({
      users: [{ id: 'cid', status: 'deleted' }, { id: 'new' }],
      groups: [
        { id: 'g', members: ['ann', 'new'] },
        { id: 'h', members: ['ann'] },
        { id: 'fresh', name: 'F' },
      ],
    });
    const removed = async (topic: Topic) =>
      textsOf(await readTopics(roster, [topic])).filter((text) => /removed|deactivated/.test(text));
    assert.deepEqual(await removed(presenceTopic('h')), ['member.removed h bob']);
    assert.deepEqual((await removed(presenceTopic('g'))).sort(), [
      'member.removed g bob',
      'member.removed g cid',
    ]);
    assert.ok((await removed(USERS_TOPIC)).includes('user.deactivated cid'));
    const all = await recordsAfter(roster.store, roster.key);
    const own = all.filter(({ at }) => at === all.at(-1)?.at);
    assert.deepEqual(own, all.slice(-own.length));
  });

  test('records of several topics come in their order, after a position, and at most as many as the limit', async () => {
    const roster = await stock();
    for (const id of ['ann', 'bob']) {
      await roster.changeMembers('g', { remove: [id] });
      await roster.changeMembers('h', { remove: [id] });
    }
    const topics = [presenceTopic('h'), presenceTopic('g')];
    const all = await readTopics(roster, topics);
    assert.deepEqual(textsOf(all), [
      'member.removed g ann',
      'member.removed h ann',
      'member.removed g bob',
      'member.removed h bob',
    ]);
    assert.deepEqual(await readTopics(roster, topics, 0, 3), all.slice(0, 3));
    assert.deepEqual(await readTopics(roster, topics, all[1]?.position), all.slice(2));
    const { newest, removedTo } = await roster.store.changes.readTopics(roster.key, [], 0, 1);
    assert.deepEqual([newest, removedTo], [all.at(-1)?.position, 0]);
  });

  test('IDs with quotes and backslashes are topics as any other, and every record has the topic of the rule', async () => {
    const roster = await lab.projectWithUsers(...HOSTILE);
    for (const group of HOSTILE) {
      await roster.putGroup(group, { name: group, members: HOSTILE });
      await roster.changeMembers(group, { remove: HOSTILE.slice(0, 2) });
    }
    for (const user of HOSTILE) await roster.putUser(user, { email: 'a@x.example' });
    for (const user of HOSTILE) await roster.putUser(user, { name: user });
    for (const user of HOSTILE.slice(0, 2)) await roster.putUser(user, { status: 'deleted' });
    for (const record of await recordsAfter(roster.store, roster.key)) {
      const topic = topicOfRecord(record.changes);
      for (const requested of [
        USERS_TOPIC,
        ...HOSTILE.map(presenceTopic),
        ...HOSTILE.map(conversationTopic),
      ]) {
        const found = await roster.store.changes.readTopics(roster.key, [requested], record.position - 1, 1);
        assert.equal(
          found.records[0]?.position === record.position,
          requested === topic,
          `${requested} ${topic}`,
        );
      }
    }
  });

  test('the end of a user in very many groups is found by the user', async () => {
    const roster = await lab.project();
    const groups = numbered('g', 1_500);
    await roster.users('ann');
    await roster.batch({
      groups: groups.slice(0, 1_000).map((id) => ({ id, name: id, members: ['ann'] })),
    });
    await roster.batch({ groups: groups.slice(1_000).map((id) => ({ id, name: id, members: ['ann'] })) });
    await roster.deleteUser('ann');
    const found = textsOf(await readTopics(roster, [USERS_TOPIC]));
    assert.equal(found.at(-1), 'user.removed ann');
    const all = await recordsAfter(roster.store, roster.key);
    assert.ok(all.filter(({ at }) => at === all.at(-1)?.at).length <= 5);
  });
}
