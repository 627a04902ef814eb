import { isIP } from 'node:net';

export interface Network {
  readonly address: string;
  /** How many bits of the address all addresses of the network share. */
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Reads `address/prefix`, as CIDR writes it. An address alone is a network of its own. Null where the text is neither. */
export function readNetwork(text: string): Network | null {
  const [, address = '', digits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return null;
  const bits = version === 4 ? 32 : 128;
  const prefix = Number(digits ?? bits);
  return prefix > bits ? null : { address, prefix, family: `ipv${version as 4 | 6}` };
}
