import { openRedisPresence } from '../../../src/presence/redis/redis-presence.ts';
import { closing, openTwo } from '../../support/closing.ts';
import { OwnRedis } from '../../support/own-redis.ts';
import { PresenceScene } from './presence-scene.ts';

/** Runs `use` with the presence of two processes in a Redis of its own. */
export async function withRedisScene(
  use: (scene: PresenceScene, redis: OwnRedis) => Promise<void>,
): Promise<void> {
  await using redis = await OwnRedis.start();
  const open = () => openRedisPresence({ url: redis.url });
  await using scene = closing(new PresenceScene(await openTwo(open)));
  await use(scene, redis);
}
