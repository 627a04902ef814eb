import type { Announcement, Location, RollcallError } from '@rollcall/client';
import { useCallback, useEffect, useRef, useState } from 'react';
import { stableText } from './client-stores.ts';
import type { PresenceData } from './presence-store.ts';
import { useProvided } from './rollcall-provider.ts';

/** Where the viewer is, and what their page publishes there. */
export interface MyPresence {
  readonly location: Location;
  /** A region in which `location` is the user's only one. */
  readonly exclusiveWithin?: Location | undefined;
  /** For the others to read: at most 1 KiB of JSON. Null clears it. */
  readonly data?: PresenceData | null | undefined;
}

/** A presence, and its group. */
export interface MyPresenceOptions extends MyPresence {
  readonly groupID?: string | undefined;
  /** False while the viewer is not to be present. Default: true. */
  readonly enabled?: boolean | undefined;
}

/** The viewer's presence while the component is mounted. */
export interface MyPresenceState {
  /**
   * Publishes other data at once, without rendering: for cursors and the like. Of updates that come faster than they can be
   * sent, the latest counts.
   */
  readonly update: (data: PresenceData | null) => void;
  /** Why the viewer is not present: for example, they are no longer a member. */
  readonly error: RollcallError | null;
}

/** The viewer is present at the location while the component is mounted, and moves when the location changes. */
export function useMyPresence(options: MyPresenceOptions): MyPresenceState {
  const { location, exclusiveWithin, data, enabled = true } = options;
  const { client, groupID } = useProvided(options.groupID);
  const announcement = useRef<Announcement | null>(null);
  const [error, setError] = useState<RollcallError | null>(null);
  // Objects are new in each rendering, so they are compared by what is in them.
  const wanted = stableText({ location, exclusiveWithin, data });
  const latest = useRef(wanted);
  // A move keeps the region of before where it names none, so another region is another announcement.
  const region = stableText(exclusiveWithin);
  /** Of an announcement that ends with an error; the next location begins another one, also while the user still leaves. */
  const hasFailed = useRef(false);
  const [round, setRound] = useState({});

  useEffect(() => {
    latest.current = wanted;
    const { location, ...more } = JSON.parse(wanted);
    announcement.current?.move(location, more);
    if (hasFailed.current) setRound({});
  }, [wanted]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another region or round begins another announcement.
  useEffect(() => {
    hasFailed.current = false;
    setError(null);
    if (!enabled) return;
    let isMounted = true;
    const onError = ({ retryable }: RollcallError) => {
      hasFailed.current ||= isMounted && !retryable;
    };
    const started = client.presence.announce({ groupID, onError, ...JSON.parse(latest.current) });
    announcement.current = started;
    void started.ended.then((reason) => {
      if (isMounted) setError(reason);
    });
    return () => {
      isMounted = false;
      if (announcement.current === started) announcement.current = null;
      void started.leave();
    };
  }, [client, groupID, enabled, region, round]);

  const update = useCallback((next: PresenceData | null) => {
    const { current } = announcement;
    if (current !== null) current.move(current.location, { data: next });
  }, []);
  return { update, error };
}
