import { isPage } from '../page-life.ts';
import { RollcallError } from '../rollcall-error.ts';

/**
 * With HTTP/1.1 a browser opens six connections to a server for all of its tabs. Streams take four of them, so that updates
 * of presence and other requests always have two.
 */
const STREAMS_MAX = 4;

interface Locks {
  request(
    name: string,
    options: { readonly ifAvailable?: boolean; readonly signal?: AbortSignal },
    use: (lock: unknown) => Promise<void> | void,
  ): Promise<void>;
}

interface Page {
  readonly navigator?: { readonly locks?: Locks };
  readonly performance?: { getEntriesByType(type: string): readonly object[] };
}

/** Outside of pages, and over HTTP/2, there is no such limit. */
const NO_PERMIT = () => {};

/**
 * Waits until the tabs of this browser have fewer than {@link STREAMS_MAX} streams open. Returns the function that gives the
 * permit back. Where the browser has no locks between tabs, it does not wait.
 * @param base the server's URL
 * @param onWait called when it has to wait, with a reason for people
 */
export async function streamPermit(
  base: string,
  signal: AbortSignal,
  onWait: (reason: RollcallError) => void,
): Promise<() => void> {
  const locks = (globalThis as Page).navigator?.locks;
  if (!isPage() || locks === undefined || hasHttp2(base)) return NO_PERMIT;
  for (let slot = 0; slot < STREAMS_MAX; slot += 1) {
    const release = await take(locks, slot, { ifAvailable: true });
    if (release !== null) return release;
  }
  onWait(
    new RollcallError(
      'network',
      `other tabs of this browser have ${STREAMS_MAX} streams open: close one, or give the server WebSocket or HTTP/2`,
    ),
  );
  const slot = Math.floor(Math.random() * STREAMS_MAX);
  return (await take(locks, slot, { signal })) ?? NO_PERMIT;
}

/** Null when the lock is not available, or when the signal has aborted. */
function take(
  locks: Locks,
  slot: number,
  options: Parameters<Locks['request']>[1],
): Promise<(() => void) | null> {
  return new Promise((resolve) => {
    const held = (lock: unknown) => {
      if (lock === null) return resolve(null);
      return new Promise<void>((release) => resolve(release));
    };
    locks.request(`rollcall-stream-${slot}`, options, held).catch(() => resolve(null));
  });
}

function hasHttp2(base: string): boolean {
  const entries = (globalThis as Page).performance?.getEntriesByType('resource') ?? [];
  return (entries as readonly { name: string; nextHopProtocol?: string }[]).some(
    ({ name, nextHopProtocol = '' }) => name.startsWith(base) && /^h[23]/.test(nextHopProtocol),
  );
}
