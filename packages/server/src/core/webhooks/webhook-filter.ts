import type { WebhookRecord, WebhookTypes } from '../../store/ports/webhooks.ts';
import { readTypes } from '../changes/change-filter.ts';

/** Whether a webhook requests a change of this type in the record at this position. */
export type WebhookFilter = (type: string, position: number) => boolean;

/** Types that the webhook had before decide about earlier records. */
export function webhookFilter(webhook: Pick<WebhookRecord, 'types' | 'pastTypes'>): WebhookFilter {
  const current = toSet(webhook.types);
  const past = webhook.pastTypes.map(({ until, types }) => ({ until, types: toSet(types) }));
  return (type, position) => {
    const earlier = past.find(({ until }) => position <= until);
    const types = earlier === undefined ? current : earlier.types;
    return types?.has(type) ?? true;
  };
}

/** A name that this version does not know matches no change. */
function toSet(types: WebhookTypes): ReadonlySet<string> | null {
  if (types === null) return null;
  return new Set(types.flatMap((name) => [...(readTypes(name) ?? [])]));
}
