import type { Place } from './announcement.ts';
import { isPage } from './page-life.ts';

/** One name for all clients of an origin; a message says which user path and group it is about. */
const CHANNEL = 'rollcall-presence';

interface AbsenceMessage {
  readonly scope: string;
  readonly place: Place;
}

/** What this needs of a BroadcastChannel. */
interface Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: AbsenceMessage): void;
  close(): void;
}

/**
 * The connection to the other clients of this origin, in this tab and in others. A client that sends the absence of a
 * location reports it, and the clients that announce the same location or region announce it again. Without a page
 * or a BroadcastChannel it does nothing.
 */
export class OtherTabs {
  readonly #scope: string;
  readonly #onAbsence: (place: Place) => void;
  #channel: Channel | null = null;

  /** @param scope server, path and group: messages of another scope are ignored */
  constructor(scope: string, onAbsence: (place: Place) => void) {
    this.#scope = scope;
    this.#onAbsence = onAbsence;
  }

  /** Starts to receive, unless it does already. */
  open(): void {
    this.#channel ??= openChannel();
    if (this.#channel === null) return;
    this.#channel.onmessage = ({ data }) => {
      const { scope, place } = data as AbsenceMessage;
      if (scope === this.#scope) this.#onAbsence(place);
    };
  }

  /** Reports that the absence of a location is sent. */
  reportAbsence(place: Place): void {
    this.#channel?.postMessage({ scope: this.#scope, place });
  }

  /** Stops to receive. What was reported is still delivered. */
  close(): void {
    this.#channel?.close();
    this.#channel = null;
  }
}

function openChannel(): Channel | null {
  const { BroadcastChannel } = globalThis as { BroadcastChannel?: new (name: string) => Channel };
  if (!isPage() || BroadcastChannel === undefined) return null;
  try {
    return new BroadcastChannel(CHANNEL);
  } catch {
    // A browser that blocks storage for the page blocks channels too.
    return null;
  }
}
