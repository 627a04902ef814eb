import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { limits } from '@rollcall/protocol';
import { Semaphore } from '../concurrency/semaphore.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import type { ProjectKey } from '../values/project-key.ts';
import type { AddressRules } from './address-rules.ts';

/**
 * How many names are looked up at once, of which a project has one: each takes one of the few threads that Node has for it, for many
 * seconds where the name servers do not answer.
 */
const FIRST_PERMITS = 2;
const FIRST_PERMITS_PER_PROJECT = 1;
/** Names of receivers that have failed before wait for each other, because their name servers may not answer. */
const REPEAT_PERMITS = 1;
/** The attempt of a lookup that waited longer has ended, in milliseconds. */
const WAITING_MS = limits.WEBHOOK_ANSWER_SECONDS * 1_000;

const unavailable = () => new DOMException('the lookup of the host waited too long', 'TimeoutError');

/** The project of the webhook whose host is looked up, and the kind of connection. */
interface LookupPurpose {
  readonly project: ProjectKey;
  readonly isEncrypted: boolean;
  /** Whether the receiver has failed before. */
  readonly isRepeat: boolean;
}

/** The host has no address that webhooks may be sent to. */
export class AddressError extends Error {
  constructor() {
    super('the address of the host is not public');
  }
}

/** Looks up the names of receivers, and accepts the addresses that the rules accept. */
export class HostLookup {
  readonly #rules: AddressRules;
  readonly #first = new Semaphore({
    permits: FIRST_PERMITS,
    permitsPerKey: FIRST_PERMITS_PER_PROJECT,
    unavailable,
  });
  readonly #repeats = new Semaphore({ permits: REPEAT_PERMITS, unavailable });
  readonly #shared = new SingleFlight<string, LookupAddress[]>();

  constructor(rules: AddressRules) {
    this.#rules = rules;
  }

  /** @throws AddressError where the URL has an address itself, which is not looked up */
  requireAddress(url: URL): void {
    if (!this.#rules.acceptsHost(url)) throw new AddressError();
  }

  /**
   * The lookup of a connection, which then connects to one of these addresses and no other: what the name means a moment later is
   * of no effect.
   */
  forConnection(purpose: LookupPurpose): LookupFunction {
    return (name, { all = false }, callback) => {
      this.#find(name, purpose).then(
        (found) => {
          const accepted = found.filter(({ address }) => this.#rules.accepts(address, purpose.isEncrypted));
          const [first] = accepted;
          if (first === undefined) callback(new AddressError(), []);
          else if (all) callback(null, accepted);
          else callback(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, []),
      );
    };
  }

  /** The projects alternate. */
  #find(name: string, { project, isRepeat }: LookupPurpose): Promise<LookupAddress[]> {
    const permits = isRepeat ? this.#repeats : this.#first;
    return this.#shared.run(`${isRepeat} ${project} ${name}`, () =>
      permits.run(
        project,
        () => lookup(name, { all: true, order: 'verbatim' }),
        performance.now() + WAITING_MS,
      ),
    );
  }
}
