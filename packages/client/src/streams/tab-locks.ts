import { onAbort } from '../listen.ts';

/**
 * With HTTP/1.1 a browser opens six connections to a server for all of its tabs. Streams take four of them and reading a
 * snapshot one more, so that updates of presence and other requests always have one.
 */
const STREAMS_MAX = 4;

interface Locks {
  request(
    name: string,
    options: { readonly ifAvailable?: boolean; readonly steal?: boolean; readonly signal?: AbortSignal },
    use: (lock: unknown) => Promise<void> | void,
  ): Promise<void>;
  query(): Promise<unknown>;
}

interface Page {
  readonly document?: object;
  readonly navigator?: { readonly locks?: Locks | null };
  readonly performance?: { getEntriesByType(type: string): readonly object[] };
}

const NO_PERMIT = () => {};

function locksOf(): Locks | null | undefined {
  const { document, navigator } = globalThis as Page;
  // Node has locks too, and no tabs. Those of happy-dom are null.
  return document && navigator?.locks;
}

/**
 * Whether the tabs of this browser have to share the connections to a server, and can. A page without an origin, such as one in a
 * sandboxed frame, has locks, but every use of them rejects.
 */
export async function areConnectionsShared(base: string): Promise<boolean> {
  const locks = locksOf();
  if (!locks || hasHttp2(base)) return false;
  const isUsable = locks.query().then(() => true);
  return isUsable.catch(() => false);
}

/**
 * Waits until the tabs of this browser have fewer than {@link STREAMS_MAX} streams open. Returns the function that gives the
 * permit back.
 * @param base the server's URL: over HTTP/2, and without locks, there is no such limit
 * @param onWait called when it has to wait, with a reason for people
 */
export async function streamPermit(
  base: string,
  signal: AbortSignal,
  onWait: (reason: string) => void,
): Promise<() => void> {
  if (!(await areConnectionsShared(base))) return NO_PERMIT;
  for (let slot = 0; slot < STREAMS_MAX; slot += 1) {
    const release = await tabLock(slotOf(base, slot), { ifAvailable: true });
    if (release !== null) return release;
  }
  onWait(`this browser has ${STREAMS_MAX} streams open: close a tab, or give the server WebSocket or HTTP/2`);
  // One tab waits for all of the slots, and the others behind it: none is free while a tab waits.
  const first = await tabLock(nameOf(base, 'stream-next'), { signal });
  return anySlot(base, signal).finally(() => first?.());
}

/** The first slot that another tab gives back. */
function anySlot(base: string, signal: AbortSignal): Promise<() => void> {
  const found = new AbortController();
  const ignore = onAbort(signal, () => found.abort());
  return new Promise<() => void>((resolve) => {
    const slots = Array.from({ length: STREAMS_MAX }, async (_, slot) => {
      const release = await tabLock(slotOf(base, slot), { signal: found.signal });
      if (release === null) return;
      // Two can be given back at once.
      if (found.signal.aborted) return release();
      found.abort();
      resolve(release);
    });
    void Promise.all(slots).then(() => resolve(NO_PERMIT));
  }).finally(ignore);
}

/** Waits until no other tab reads a snapshot from the server. Returns the function that gives the permit back. */
export const snapshotPermit = async (base: string, signal: AbortSignal): Promise<() => void> =>
  (await tabLock(nameOf(base, 'snapshot'), { signal })) ?? NO_PERMIT;

/**
 * Takes a lock of the browser's tabs; it is released when the page ends. Returns the function that releases it, or null when the
 * lock is not available, or when the signal has aborted.
 * @param onLost called when another tab has taken the lock away, and when the signal aborts before the lock is free
 */
export function tabLock(
  name: string,
  options: Parameters<Locks['request']>[1],
  onLost: () => void = () => {},
): Promise<(() => void) | null> {
  return new Promise((resolve) => {
    const held = (lock: unknown) => {
      if (lock === null) return resolve(null);
      return new Promise<void>((release) => resolve(release));
    };
    locksOf()
      ?.request(name, options, held)
      .catch(() => {
        resolve(null);
        onLost();
      });
  });
}

/** The browser counts the connections of each origin. */
const nameOf = (base: string, use: string) => `rollcall ${new URL(base).origin} ${use}`;

const slotOf = (base: string, slot: number) => nameOf(base, `stream-${slot}`);

function hasHttp2(base: string): boolean {
  const entries = (globalThis as Page).performance?.getEntriesByType('resource') ?? [];
  return (entries as readonly { name: string; nextHopProtocol?: string }[]).some(
    ({ name, nextHopProtocol = '' }) => name.startsWith(base) && /^h[23]/.test(nextHopProtocol),
  );
}
