import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.ts';

/** Which URLs a webhook may have. The address of a name is checked by each attempt, not here. */
export class WebhookTargets {
  readonly #rules: AddressRules;
  readonly #allow: string | null;

  constructor(rules: AddressRules, allow: string | null) {
    this.#rules = rules;
    this.#allow = allow;
  }

  mayBeUsed(text: string): boolean {
    const url = new URL(text);
    if (url.username !== '' || url.password !== '') return false;
    if (url.protocol === 'https:') return true;
    if (this.#allow === null) return false;
    const address = url.hostname.replace(/^\[(.*)\]$/, '$1');
    return isIP(address) === 0 || this.#rules.accepts(address, false);
  }
}
