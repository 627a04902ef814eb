import type { PastTypes, WebhookTypes } from '../../store/ports/webhooks.ts';
import { readTypes } from '../changes/change-filter.ts';

interface Types {
  readonly types: WebhookTypes;
  readonly pastTypes: readonly PastTypes[];
}

/** Which changes a webhook requests. Types that it had before decide about earlier records. */
export class WebhookFilter {
  readonly #types: ReadonlySet<string> | null;
  readonly #past: readonly { readonly until: number; readonly types: ReadonlySet<string> | null }[];

  constructor({ types, pastTypes }: Types) {
    this.#types = toSet(types);
    this.#past = pastTypes.map((past) => ({ until: past.until, types: toSet(past.types) }));
  }

  /** Whether a change of this type in the record at this position matches the filter. */
  matches(type: string, position: number): boolean {
    const past = this.#past.find(({ until }) => position <= until);
    const types = past === undefined ? this.#types : past.types;
    return types?.has(type) ?? true;
  }
}

/** A name that this version does not know matches no change. */
function toSet(types: WebhookTypes): ReadonlySet<string> | null {
  if (types === null) return null;
  return new Set(types.flatMap((name) => [...(readTypes(name) ?? [])]));
}
