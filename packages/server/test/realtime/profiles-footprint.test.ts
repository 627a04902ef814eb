import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import { usedBytes } from '../support/heap.ts';
import { BY_TEST } from '../support/origin.ts';
import { Drain } from './drain.ts';
import { withStreams } from './stream-world.ts';

const GUESTS = 6_000;
const AT_ONCE = 500;
const PICTURE = `https://pictures.test/${'p'.repeat(2_000)}`;
/** All pictures take more than 12 MB, those of the guests that are retained some 3 MB. */
const ADDED_MAX = 6 * 1_048_576;

test('names and pictures of users who have left are not stored while a stream of their group goes on', () =>
  withStreams({ users: ['a'] }, async (world) => {
    const ids = Array.from({ length: GUESTS }, (_, index) => `guest${index}`);
    await world.seed(ids);
    const session = await world.session({
      filter: { location: null, excludeDurable: false, expand: ['user'] },
    });
    session.start(new SseSink(new Drain(true)));
    const writer = { project: world.project, ...BY_TEST };
    let before = 0;
    for (let first = 0; first < GUESTS; first += AT_ONCE) {
      const guests = ids.slice(first, first + AT_ONCE);
      const users = guests.map((id) => ({ id, profile_picture_url: `${PICTURE}${id}` }));
      await world.services.batches.apply(writer, {
        body: Buffer.from(JSON.stringify({ users })),
        dryRun: false,
      });
      const location = { page: '1' };
      await Promise.all(guests.map((id) => world.put(id, { location })));
      await world.pass(1);
      await Promise.all(guests.map((id) => world.put(id, { location, absent: true })));
      await world.pass(1);
      if (first === 0) before = await usedBytes();
    }
    const added = (await usedBytes()) - before;
    assert.ok(added < ADDED_MAX, `${added} bytes`);
  }));
