import type { Announcement, Location, RollcallError } from '@rollcall/client';
import { useCallback, useEffect, useRef, useState } from 'react';
import { onConnectedAgain, stableText } from './client-stores.ts';
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
  /** By `update` since the last announcement ended: effects of children run before the next one begins. */
  const published = useRef<PresenceData | null>(undefined);
  // A move keeps the region of before where it names none, so another region is another announcement.
  const region = stableText(exclusiveWithin);
  /**
   * Of an announcement that ends with an error; the next location begins another one, also while the user still leaves, and so does
   * the next connection.
   */
  const hasFailed = useRef(false);
  const [round, setRound] = useState({});

  useEffect(() => {
    const { location, ...more } = JSON.parse(wanted);
    announcement.current?.move(location, more);
    if (hasFailed.current) setRound({});
  }, [wanted]);

  useEffect(
    () =>
      onConnectedAgain(client, () => {
        if (hasFailed.current) setRound({});
      }),
    [client],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: another region or round begins another announcement.
  useEffect(() => {
    hasFailed.current = false;
    setError(null);
    if (!enabled) return;
    let isMounted = true;
    const onError = ({ retryable }: RollcallError) => {
      hasFailed.current ||= isMounted && !retryable;
    };
    const more = { data: published.current, ...JSON.parse(wanted) };
    const started = client.presence.announce({ groupID, onError, ...more });
    announcement.current = started;
    void started.ended.then((reason) => {
      if (isMounted) setError(reason);
    });
    return () => {
      isMounted = false;
      announcement.current = null;
      published.current = undefined;
      void started.leave();
    };
  }, [client, groupID, enabled, region, round]);

  const update = useCallback((next: PresenceData | null) => {
    published.current = next;
    announcement.current?.move(announcement.current.location, { data: next });
  }, []);
  return { update, error };
}
