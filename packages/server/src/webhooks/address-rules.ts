import { BlockList, isIP } from 'node:net';
import { type Network, readNetwork } from '../core/network.ts';

/** Networks that are not public, from IANA's registries of special-purpose addresses. Of IPv6, 2000::/3 alone is public. */
const PRIVATE_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24'],
  ...['203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
];
/** Within 2000::/3: protocol assignments with Teredo, documentation, and 6to4, which embeds an address of IPv4. */
const PRIVATE_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const notPublic = networks([...PRIVATE_IPV4, ...PRIVATE_IPV6]);
const globalIpv6 = networks(['2000::/3']);

function networks(list: readonly string[]): BlockList {
  const found = new BlockList();
  for (const text of list) {
    // Those of the operator were read when the settings were.
    const { address, prefix, family } = readNetwork(text) as Network;
    found.addSubnet(address, prefix, family);
  }
  return found;
}

const contains = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');

/** An address of IPv4 that is written as one of IPv6 is reached by IPv4. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

export class AddressRules {
  readonly #allowed: BlockList;
  readonly #allowsHttp: boolean;

  /** @param allow networks with commas between them, as the setting has them; null for none */
  constructor(allow: string | null) {
    this.#allowed = networks(allow === null ? [] : allow.split(','));
    this.#allowsHttp = allow !== null;
  }

  /** Whether a webhook may have this URL. The address of the host is checked by each attempt, where it is encrypted or a name. */
  acceptsUrl(text: string): boolean {
    const url = new URL(text);
    if (url.username !== '' || url.password !== '') return false;
    return url.protocol === 'https:' || (this.#allowsHttp && this.acceptsHost(url));
  }

  /** Whether the host of the URL is an accepted address, or a name, which has to be looked up. */
  acceptsHost({ hostname, protocol }: URL): boolean {
    const address = hostname.replace(/^\[(.*)\]$/, '$1');
    return isIP(address) === 0 || this.accepts(address, protocol === 'https:');
  }

  /** Without encryption only to networks that the operator allows; with it to public addresses too. */
  accepts(address: string, isEncrypted: boolean): boolean {
    const plain = MAPPED.exec(address)?.[1] ?? address;
    const version = isIP(plain);
    // An address with a zone is of this machine's link.
    if (version === 0 || plain.includes('%')) return false;
    if (contains(this.#allowed, plain)) return true;
    if (!isEncrypted) return false;
    return version === 4
      ? !contains(notPublic, plain)
      : contains(globalIpv6, plain) && !contains(notPublic, plain);
  }
}
