/** The event loop neither decodes nor parses large bodies, and a long search does not stop it. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { expectDone } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { StreamReader } from '../support/stream-reader.ts';

const server = oneServer();
let project: Project;

before(async () => {
  await server.started;
  project = await server.projectWithUsers('ann');
});

/**
 * The longest text that was decoded, parsed or written as JSON on this thread, which is the event loop's, while `use`
 * ran. Each thread has functions of its own, so that what a worker does is not seen here.
 */
async function longestText(use: () => Promise<void>): Promise<number> {
  const { parse, stringify } = JSON;
  const { toString: decode } = Buffer.prototype;
  let longest = 0;
  const seen = <Text extends string | undefined>(text: Text): Text => {
    longest = Math.max(longest, text?.length ?? 0);
    return text;
  };
  Object.assign(JSON, {
    parse: (text: string, ...rest: []) => parse(seen(String(text)), ...rest),
    stringify: (...parameters: Parameters<typeof stringify>) => seen(stringify(...parameters)),
  });
  Buffer.prototype.toString = function (...parameters: Parameters<typeof decode>) {
    return seen(decode.apply(this, parameters));
  };
  try {
    await use();
  } finally {
    Object.assign(JSON, { parse, stringify });
    Buffer.prototype.toString = decode;
  }
  return longest;
}

const ids = Array.from({ length: 100_000 }, (_, index) => `user ${index}`);
const list = JSON.stringify(ids);
const update = '{"userID":"ann","groupID":"g","location":{"p\\u0061ge":"1"}}';

/** Each has a key with an escape, which makes parsing slow. */
const BODIES: readonly (readonly [string, string, string])[] = [
  ['PUT', '/v1/groups/g', `{"na\\u006de":"G","members":${list}}`],
  ['PUT', '/v1/groups/g', `{"na\\u006de":"","members":${list}}`],
  ['POST', '/v1/groups', `{"i\\u0064":"h","name":"H","members":${list}}`],
  ['PUT', '/v1/organizations/g', `{"na\\u006de":"G","members":${list}}`],
  ['POST', '/v1/groups/g/members', `{"\\u0061dd":${list},"remove":${list}}`],
  ['POST', '/v1/batch', `{"us\\u0065rs":[],"groups":[{"id":"g","name":"G","members":${list}}]}`],
  ['PUT', '/v1/presence', `{"up\\u0064ates":[${update}]}`.padEnd(1_000_000)],
];

for (const [method, path, body] of BODIES) {
  test(`${method} ${path} with a body of ${body.length} bytes is parsed on another thread`, async () => {
    const bytes = Buffer.from(body);
    assert.ok(bytes.length > limits.SMALL_BODY_LIMIT_BYTES);
    const longest = await longestText(async () => {
      const { status, text } = await project.send(method, path, bytes);
      assert.ok([200, 400, 401].includes(status), text);
    });
    assert.ok(longest < 10_000, `the event loop handled a text of ${longest} characters`);
  });
}

/** The most characters of JSON that one tick of this event loop parsed while `use` ran. */
async function mostParsedInATick(use: () => Promise<void>): Promise<number> {
  const { parse } = JSON;
  let [most, inTick] = [0, 0];
  let isDone = false;
  const nextTick = () => {
    inTick = 0;
    if (!isDone) setImmediate(nextTick);
  };
  nextTick();
  JSON.parse = (text: string, ...rest: []) => {
    inTick += text.length;
    most = Math.max(most, inTick);
    return parse(text, ...rest);
  };
  try {
    await use();
  } finally {
    isDone = true;
    JSON.parse = parse;
  }
  return most;
}

test('a stream of changes that searches long for its type parses at most 256 KiB and a record in one tick', async () => {
  const own = await server.project();
  for (let batch = 0; batch < 4; batch += 1)
    await own.seedUsers(
      ...Array.from({ length: 10_000 }, (_, index) => `${'u'.repeat(80)} ${batch} ${index}`),
    );
  const most = await mostParsedInATick(async () => {
    using reader = await StreamReader.open(own, '/v1/changes?type=group.*');
    expectDone(await own.put('/v1/groups/g', { name: 'G' }));
    await reader.until('the group', () => reader.events.length === 1);
  });
  assert.ok(most > 250_000 && most < 600_000, `${most} characters`);
});
