import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalLocation } from '@rollcall/protocol';
import { ChannelIndex } from '../../src/realtime/channels/channel-index.ts';
import type { LocationFilter } from '../../src/values/location-filter.ts';
import { locationTest } from '../../src/values/location-pairs.ts';
import { Random } from '../sim/random.ts';

const channelOf = (location: LocationFilter) => ({ view: { filter: { location } } });
const randomLocation = (random: Random) => {
  const pairs = ['page', 'line', 'key"'].map((key) => [key, `${random.below(3)}`]);
  return canonicalLocation(Object.fromEntries(pairs.filter(() => random.chance(0.6))));
};

function randomFilter(random: Random): LocationFilter {
  return random.chance(0.1) ? null : { location: randomLocation(random), partial: random.chance(0.6) };
}

describe('the index of channels', () => {
  for (const seed of [1, 2, 3]) {
    test(`the index finds all channels whose filter shows a location, each once, seed ${seed}`, () => {
      const random = new Random(seed);
      const index = new ChannelIndex<ReturnType<typeof channelOf>>();
      let channels: ReturnType<typeof channelOf>[] = [];
      for (let step = 0; step < 1_000; step += 1) {
        const channel = channelOf(randomFilter(random));
        channels.push(channel);
        index.add(channel);
        if (channels.length > 30) {
          const gone = random.pick(channels);
          index.remove(gone);
          channels = channels.filter((other) => other !== gone);
        }
        const locations = [randomLocation(random), randomLocation(random)];
        const near = index.near(...locations);
        for (const one of channels) {
          const isShown = locations.some(locationTest(one.view.filter.location));
          if (isShown) assert.ok(near.has(one), `${JSON.stringify(one)} shows ${locations}`);
        }
        for (const one of near) assert.ok(channels.includes(one), 'a removed channel is not found');
      }
    });
  }

  test('the index finds few of many channels for a location, also where all filters have one pair in common', () => {
    const index = new ChannelIndex<ReturnType<typeof channelOf>>();
    for (let page = 0; page < 1_000; page += 1) {
      index.add(channelOf({ location: canonicalLocation({ doc: 'a', page: `${page}` }), partial: true }));
      index.add(channelOf({ location: canonicalLocation({ page: `${page}` }), partial: false }));
    }
    const near = index.near(canonicalLocation({ doc: 'a', page: '7', line: '1' }));
    // The first channel is indexed by the pair that all have.
    assert.ok(near.size <= 2, `${near.size} channels`);
    assert.equal(index.near(canonicalLocation({ page: '7' })).size, 2);
  });
});
