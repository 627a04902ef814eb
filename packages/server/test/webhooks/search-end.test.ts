import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { withStreams } from '../realtime/stream-world.ts';
import { BY_TEST } from '../support/origin.ts';

const RECORDS = 100;
/** Of how many readings a search stores its position. */
const SEARCHED = 20;

test('a server that stops ends the search of a webhook that requests none of the changes in a long record', () =>
  withStreams({}, async (world) => {
    for (let record = 0; record < RECORDS; record += 1) await world.seed([`u${record}`]);
    const { changes } = world.engine.store;
    const read = changes.read.bind(changes);
    const stopped = Promise.withResolvers<void>();
    let searched = 0;
    changes.read = async (project, after, limit) => {
      if (limit === 1) return read(project, after, limit);
      searched += 1;
      if (searched === SEARCHED + 1) await stopped.promise;
      return read(project, after, 1);
    };
    const writer = { project: world.project, ...BY_TEST };
    const position = await world.services.changes.begin(world.project, null);
    await world.services.webhooks.put(writer, 'w', {
      url: 'https://example.org/',
      types: ['webhook.deleted'],
      after: position,
    });
    await world.pass(3);
    await world.until('the second part of the search', () => searched === SEARCHED + 1);
    const stopping = world.services.webhookDeliveries.stop();
    await nextIteration();
    stopped.resolve();
    await stopping;
    assert.equal(searched, 2 * SEARCHED);
  }));
