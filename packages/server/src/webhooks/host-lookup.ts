import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Semaphore } from '../concurrency/semaphore.ts';
import type { AddressRules } from './address-rules.ts';

/** How many names are looked up at once: each takes one of the four threads that Node has for it. */
const FIRST_PERMITS = 2;
/** Names of receivers that have failed before wait for each other, because their name servers may not answer. */
const REPEAT_PERMITS = 1;

/** The host has no address that webhooks may be sent to. */
export class AddressError extends Error {
  constructor() {
    super('the address of the host is not public');
  }
}

/** Looks up the names of receivers, and accepts the addresses that the rules accept. */
export class HostLookup {
  readonly #rules: AddressRules;
  readonly #first = new Semaphore({ permits: FIRST_PERMITS });
  readonly #repeats = new Semaphore({ permits: REPEAT_PERMITS });
  readonly #underWay = new Map<string, Promise<LookupAddress[]>>();

  constructor(rules: AddressRules) {
    this.#rules = rules;
  }

  /** @throws AddressError where the URL has an address itself, which is not looked up */
  requireAddress({ hostname, protocol }: URL): void {
    const address = hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(address) !== 0 && !this.#rules.accepts(address, protocol === 'https:')) throw new AddressError();
  }

  /**
   * The lookup of a connection, which then connects to one of these addresses and no other: what the name means a moment later is
   * of no effect.
   */
  forConnection(isEncrypted: boolean, isRepeat: boolean): LookupFunction {
    return (name, { all = false }, callback) => {
      this.#find(name, isRepeat).then(
        (found) => {
          const accepted = found.filter(({ address }) => this.#rules.accepts(address, isEncrypted));
          const [first] = accepted;
          if (first === undefined) callback(new AddressError(), []);
          else if (all) callback(null, accepted);
          else callback(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, []),
      );
    };
  }

  #find(name: string, isRepeat: boolean): Promise<LookupAddress[]> {
    const key = `${isRepeat} ${name}`;
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    const permits = isRepeat ? this.#repeats : this.#first;
    const found = permits
      .run(null, () => lookup(name, { all: true, order: 'verbatim' }))
      .finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, found);
    return found;
  }
}
