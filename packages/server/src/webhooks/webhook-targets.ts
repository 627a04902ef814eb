import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.ts';

/**
 * Which URLs a webhook may have. The address of a name is checked by each attempt, not here.
 * @param allow networks as {@link AddressRules} takes them
 */
export const webhookTargets = (rules: AddressRules, allow: string | null) => (text: string) => {
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  if (allow === null) return false;
  const address = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(address) === 0 || rules.accepts(address, false);
};
