/** Random writes of threads and messages in two groups, for what must be so whatever is done. */
import { type Conversation, plain } from '../contract/store/conversation.ts';
import { Random } from '../sim/random.ts';

const SEED = 11;
const LOCATIONS = [null, '{"a":"1"}', '{"a":"1","b":"2"}', '{"b":"2","c":"3"}'] as const;

/** Writes in the groups g and h. `check` is called after every ten writes, with a name for what fails. */
export async function walkThreads(
  c: Conversation,
  readers: readonly string[],
  check: (when: string) => Promise<void>,
): Promise<void> {
  const random = new Random(SEED);
  await c.groupOf('h', 'ann');
  for (let round = 0; round < 30; round += 1) {
    for (let step = 0; step < 10; step += 1) {
      const id = random.pick(['t1', 't2', 't3', 't4'] as const);
      const write = { location: random.pick(LOCATIONS), resolved: random.pick([true, false] as const) };
      const ways = [
        () => c.putThread(id, { groupId: random.pick(['g', 'h'] as const), name: id, ...write }),
        () => c.putThread(id, write),
        () => c.putMessage(id, `m${step % 3}`, { authorId: 'ann', content: plain(`${round}`) }),
        () => c.putMessage(id, `m${step % 3}`, { deleted: random.pick([true, false] as const) }),
        () => c.deleteMessage(id, `m${step % 3}`),
        () => c.deleteThread(id),
        () => c.markSeen(id, random.pick(readers)),
      ];
      await random.pick(ways)();
    }
    if (round % 10 === 9) {
      await c.deleteGroup('h');
      await c.groupOf('h', 'ann');
    }
    await check(`seed ${SEED}, round ${round}`);
  }
}
