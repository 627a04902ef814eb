import { listen } from '../listen.ts';
import { isPage, onPage } from '../page-life.ts';
import type { LeftLocation } from '../presence/announced-location.ts';

/** The part of a page's `sessionStorage` that is used here. */
interface Page {
  readonly sessionStorage: {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
  };
}

/** The connection of a client: each has one of its own. */
interface PageConnection {
  readonly id: string;
  /** Where the page before left the user. The server keeps it for this page, if that connects in time. */
  readonly left: readonly LeftLocation[];
}

/** What a page stores when it is left, for the page that follows. */
interface Left extends PageConnection {
  readonly at: number;
}

/** The connections of this page by their numbers, which a reloaded page gives to its clients in the same order. */
const inUse: boolean[] = [];

/** How long a page that was left may be away and have what it held, in milliseconds. */
const AWAY_MAX_MS = 2_000;

/**
 * Names a client's connection. A page that is reloaded has the ID of the one before, so that no reader sees its user
 * leave. A tab that is duplicated has another one: the ID is stored only while no page has it, and for the page that follows.
 * @param locations where the user is because of the client, when the page is left
 */
export function pageConnection(
  closing: AbortSignal,
  locations: () => readonly LeftLocation[],
): PageConnection {
  // It is no secret: it counts for its own user alone.
  let own: PageConnection = { id: `${Math.random()}${Math.random()}`, left: [] };
  if (!isPage()) return own;
  try {
    const { sessionStorage } = globalThis as unknown as Page;
    const free = inUse.indexOf(false);
    const number = free === -1 ? inUse.length : free;
    inUse[number] = true;
    const key = `rollcall-connection-${number}`;
    const before: Left | null = JSON.parse(sessionStorage.getItem(key) ?? 'null');
    if (before !== null && Date.now() - before.at < AWAY_MAX_MS) own = before;
    const { id } = own;
    const take = () => sessionStorage.removeItem(key);
    take();
    const leave = () =>
      sessionStorage.setItem(key, JSON.stringify({ id, at: Date.now(), left: locations() }));
    const releases = [
      onPage('pagehide', leave),
      // The page comes back from the back/forward cache.
      onPage('pageshow', take),
    ];
    listen(closing, 'abort', () => {
      inUse[number] = false;
      for (const release of releases) release();
    });
  } catch {
    // The page may store nothing.
  }
  return own;
}
