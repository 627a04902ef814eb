import { isPage, onPage } from '../page-life.ts';

/** The part of a page's `sessionStorage` that is used here. */
interface Page {
  readonly sessionStorage: {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
  };
}

/** The clients of this page, in the order of their creation: each has a connection of its own. */
let clients = 0;

/** How long a page that was left may be away and have what it held, in milliseconds. */
const AWAY_MAX_MS = 2_000;

/**
 * The ID of a client's connection. A page that is reloaded has the ID of the one before, so that no reader sees its user
 * leave. A tab that is duplicated has another one: the ID is stored only while no page has it, and for the page that follows.
 */
export function connectionID(): string {
  // It is no secret: it counts for its own user alone.
  let id = `${Math.random()}${Math.random()}`;
  if (!isPage()) return id;
  try {
    const { sessionStorage } = globalThis as unknown as Page;
    const key = `rollcall-connection-${clients}`;
    clients += 1;
    const [before = id, leftAt] = sessionStorage.getItem(key)?.split(' ') ?? [];
    if (Date.now() - Number(leftAt) < AWAY_MAX_MS) id = before;
    const take = () => sessionStorage.removeItem(key);
    take();
    onPage('pagehide', () => sessionStorage.setItem(key, `${id} ${Date.now()}`));
    // The page comes back from the back/forward cache.
    onPage('pageshow', take);
  } catch {
    // The page may store nothing.
  }
  return id;
}
