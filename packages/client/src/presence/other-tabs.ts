import { isPage } from '../page-life.ts';
import type { AnnouncedLocation } from './announced-location.ts';

/** One channel for all clients of an origin; each message names its scope. */
const CHANNEL = 'rollcall-presence';

interface AbsenceMessage {
  readonly scope: string;
  readonly absent: AnnouncedLocation;
}

/** The part of a BroadcastChannel that is used here. */
interface Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: AbsenceMessage): void;
  close(): void;
}

/**
 * Connects the clients of one origin, in this tab and in others. A client that sends the absence of a location reports
 * it here, and clients that announce the same location or region announce it again. Outside of browsers, and where
 * BroadcastChannel is missing, it does nothing.
 */
export class OtherTabs {
  readonly #scope: string;
  readonly #onAbsence: (absent: AnnouncedLocation) => void;
  #channel: Channel | null = null;

  /** @param scope identifies server, user and group: messages of another scope are ignored */
  constructor(scope: string, onAbsence: (absent: AnnouncedLocation) => void) {
    this.#scope = scope;
    this.#onAbsence = onAbsence;
  }

  /** Subscribes, if it has not yet. */
  open(): void {
    const { BroadcastChannel } = globalThis as { BroadcastChannel?: new (name: string) => Channel };
    if (this.#channel !== null || !isPage() || BroadcastChannel === undefined) return;
    try {
      this.#channel = new BroadcastChannel(CHANNEL);
    } catch {
      // A browser that blocks storage for the page blocks channels too.
      return;
    }
    this.#channel.onmessage = ({ data }) => {
      const { scope, absent } = data as AbsenceMessage;
      if (scope === this.#scope) this.#onAbsence(absent);
    };
  }

  /** Publishes that the absence of a location is sent. */
  reportAbsence(absent: AnnouncedLocation): void {
    this.#channel?.postMessage({ scope: this.#scope, absent });
  }

  /** Unsubscribes. Messages already published are still delivered. */
  close(): void {
    this.#channel?.close();
    this.#channel = null;
  }
}
