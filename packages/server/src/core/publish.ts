import type { Broker, Notification } from '../broker/broker.ts';

/**
 * Publishes a change that is already committed. A broker that cannot deliver must not fail the request: its answer may have
 * a secret that is shown only once, and a process that misses the change is right again within a second.
 */
export async function publish(broker: Broker, notification: Notification): Promise<void> {
  await broker.publish(notification).catch(() => {});
}
