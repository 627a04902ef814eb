import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GroupMessage, readMessage } from '../../src/presence/redis/group-watch.ts';

const read = (event: unknown) => readMessage(`epoch 7 ${JSON.stringify(event)}`);

test('every kind of event is read as it was published', () => {
  for (const event of [
    { type: 'arrived', userId: 'u', incarnation: 7, location: '{}', from: null },
    { type: 'arrived', userId: 'u', incarnation: 7, location: '{}', from: '{"a":"b"}', data: '{}' },
    { type: 'data', userId: 'u', location: '{}', data: '{}' },
    { type: 'data', userId: 'u', location: '{}', data: null },
    { type: 'releasing', userId: 'u', connection: 'c' },
    { type: 'departed', userId: 'u', location: '{}', reason: 'expired' },
    { type: 'durable', userId: 'u', location: '{}', at: 1, from: null },
    { type: 'usersRemoved', userIds: ['u'] },
    { type: 'users', userIds: ['u'] },
    { type: 'profiles', userIds: ['u'] },
    { type: 'group' },
    { type: 'groupRemoved' },
  ]) {
    const { checksum, ...message } = read(event) as GroupMessage;
    assert.deepEqual(message, { epoch: 'epoch', offset: 7, event });
    assert.match(checksum, /^[0-9a-f]{12}$/);
    const later = read({ ...event, now: 1 }) as GroupMessage;
    assert.deepEqual(later.event, event, 'the time of its caller is no part of an event');
    assert.notEqual(later.checksum, checksum, 'and makes a checksum of its own');
  }
  assert.deepEqual(readMessage('epoch 7 '), { epoch: 'epoch', offset: 7, event: null, checksum: '' });
});

test('a foreign message on a channel is ignored', () => {
  const durable = { type: 'durable', userId: 'u', location: '{}', from: null };
  const strange = [
    durable,
    { ...durable, at: 1e20 },
    { type: 'arrived', userId: 7 },
    { type: 'arrived', userId: 'u', location: '{}' },
    { type: 'users' },
    { type: 'data', userId: 'u', location: '{}' },
    { type: 'releasing', userId: 'u' },
    {},
    [],
    7,
  ];
  for (const event of strange) assert.equal(read(event), null, JSON.stringify(event));
  for (const text of ['', 'hello', 'epoch seven {}', 'epoch 7 {'])
    assert.equal(readMessage(text), null, text);
});
