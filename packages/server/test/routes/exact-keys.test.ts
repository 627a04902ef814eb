/**
 * Keys are read back as they were sent, whatever keys others sent before. A key that is written with escapes may come out as one
 * that another object had at the same position, where JSON is read by `JSON.parse` of Node 24 to 26.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectDone } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();
const JSON_TYPE = { 'content-type': 'application/json' };

/**
 * The text that another user sends first, and the one that follows: the same object with a different spelling of a key.
 */
const PAIRS: readonly (readonly [string, string, object])[] = [
  [
    String.raw`{"k":"1","\\u04":"2"}`,
    String.raw`{"k":"1","\u043a\u043b\u044e\u0447":"2"}`,
    { k: '1', ключ: '2' },
  ],
  [String.raw`{"x":"1","\\":"2"}`, String.raw`{"x":"1","\n":"2"}`, { x: '1', '\n': '2' }],
  [String.raw`{"y":"1","a\\":"2"}`, String.raw`{"y":"1","a\"":"2"}`, { y: '1', 'a"': '2' }],
];

async function put(project: Project, path: string, text: string): Promise<void> {
  expectDone(await project.send('PUT', path, text, JSON_TYPE), path.split('/')[3] as string);
}

async function projects(): Promise<{ first: Project; other: Project }> {
  const [first, other] = [await server.project(), await server.project()];
  for (const project of [first, other]) {
    const users = ['ann', 'bob'].map((id) => ({ id }));
    await project.seed({ users, groups: [{ id: 'g', name: 'G', members: ['ann', 'bob'] }] });
  }
  return { first, other };
}

describe('keys that are written with escapes', () => {
  for (const [before, text, value] of PAIRS) {
    test(`metadata ${text} after ${before} is read back with its own keys`, async () => {
      const { first, other } = await projects();
      for (const id of ['ann', 'bob', 'ann']) await put(first, `/v1/users/${id}`, `{"metadata":${before}}`);
      await put(other, '/v1/users/ann', `{"metadata":${text}}`);
      const { text: answer } = await other.get('/v1/users/ann');
      assert.ok(answer.includes(`"metadata":${JSON.stringify(value)}`), answer);
    });

    test(`a location ${text} after ${before} is read back with its own keys`, async () => {
      const { first, other } = await projects();
      const update = (location: string, durable: boolean) =>
        `{"groupID":"g","location":${location},"durable":${durable}}`;
      for (const durable of [false, true]) {
        for (const id of ['ann', 'bob', 'ann'])
          await put(first, `/v1/users/${id}/presence`, update(before, durable));
        await put(other, '/v1/users/ann/presence', update(text, durable));
      }
      const shown = JSON.stringify(Object.fromEntries(Object.entries(value).sort()));
      // By an exact filter, and by a partial one with its last pair.
      const [last] = Object.entries(value).slice(-1) as [[string, string]];
      for (const [location, partial] of [
        [shown, 'false'],
        [JSON.stringify({ [last[0]]: last[1] }), 'true'],
      ] as const) {
        const query = new URLSearchParams({ location, partial_match: partial });
        const { text: answer } = await other.get(`/v1/groups/g/presence?${query}`);
        const entry = `{"id":"ann","ephemeral":{"locations":[${shown}]},"durable":{"location":${shown},`;
        assert.ok(answer.startsWith(`{"users":[${entry}`), answer);
      }
    });
  }
});
