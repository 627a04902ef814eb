/** A page whose socket moves from one server process to another. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { oneCluster, skip } from '../../server/test/cluster/cluster-case.ts';
import { closedAfterTests } from '../../server/test/support/closing.ts';
import { until } from '../../server/test/support/waiting.ts';
import { Rollcall, RollcallClient } from '../src/index.ts';
import { signClientToken } from '../src/server/index.ts';
import { withBalancer } from './support/balancer.ts';

describe('a page on two server processes', { skip }, () => {
  const closed = closedAfterTests();
  const cluster = oneCluster(2);

  // The first process has not noticed the loss when the page is back, so the two seconds that it has for that are not measured.
  test('a page that loses its connection to one process continues at the other one, and no stream has a departure of its user', () =>
    withBalancer(async (balancer) => {
      const [first, second] = await cluster.project();
      assert.ok(first !== undefined && second !== undefined);
      const members = ['ada', 'bob'];
      await first.seed({ users: members.map((id) => ({ id })), groups: [{ id: 'g', name: 'G', members }] });
      const clientOf = (userID: string) => {
        const sign = { projectID: first.id, secret: first.secret, userID, groupID: 'g' };
        return closed(new RollcallClient({ url: balancer.url, token: () => signClientToken(sign) }));
      };
      const rollcall = closed(new Rollcall({ url: second.url, token: second.token }));
      const events = rollcall.presence.watch({ groupID: 'g' });
      await events.next();
      balancer.target = first.url;
      const ada = clientOf('ada');
      const seen: string[] = [];
      const takeUntil = async (last: string) => {
        while (seen.at(-1) !== last) {
          const { value } = await events.next();
          assert.ok(value !== undefined && value.type !== 'snapshot');
          seen.push(`${value.id} ${value.type}`);
        }
      };
      const announcement = ada.presence.announce({ location: { page: 'a' } });
      await takeUntil('ada arrived');
      const adas = balancer.connections.splice(0);
      clientOf('bob').presence.announce({ location: { page: 'a' } });
      await takeUntil('bob arrived');
      const states: string[] = [];
      ada.status.subscribe(() => states.push(ada.status.get().state));

      const socketsBefore = await socketsOf(second.url);
      balancer.target = second.url;
      for (const { near } of adas) near.removeAllListeners('close').resetAndDestroy();
      await until('ada is connected again', () => states.join().endsWith('reconnecting,open'));
      await until(
        'the other process has the socket',
        async () => (await socketsOf(second.url)) > socketsBefore,
      );
      // What bob held ends two seconds after what ada's lost connection held.
      balancer.target = null;
      for (const { far } of [...adas, ...balancer.connections.splice(0, 1)]) far.resetAndDestroy();
      await takeUntil('bob departed');
      assert.deepEqual(seen, ['ada arrived', 'bob arrived', 'bob departed']);
      await announcement.leave();
      await takeUntil('ada departed');
      await ada.close();
    }));
});

async function socketsOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^rollcall_sockets (\d+)$/m.exec(text)?.[1]);
}
