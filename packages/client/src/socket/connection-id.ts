import { onPage } from '../page-life.ts';

interface Storage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** The clients of this page, in the order of their creation: each has a connection of its own. */
let clients = 0;

/**
 * The ID of a client's connection. A page that is reloaded has the ID of the one before, so that no reader sees its user
 * leave. A tab that is duplicated has another one, because the ID is stored only while no page has it.
 */
export function connectionID(): string {
  const key = `rollcall-connection-${clients}`;
  clients += 1;
  const storage = sessionStorageOf();
  // It is no secret: it counts for its own user alone.
  const id = storage?.getItem(key) ?? `${Math.random()}${Math.random()}`;
  storage?.removeItem(key);
  if (storage !== undefined) onPage('pagehide', () => storage.setItem(key, id));
  return id;
}

/** Undefined outside of browsers, and where the page may store nothing. */
function sessionStorageOf(): Storage | undefined {
  try {
    return (globalThis as { document?: unknown; sessionStorage?: Storage }).document === undefined
      ? undefined
      : (globalThis as { sessionStorage?: Storage }).sessionStorage;
  } catch {
    return undefined;
  }
}

