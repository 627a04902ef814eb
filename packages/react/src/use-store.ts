import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import type { LiveStore } from './live-store.ts';

/** Whether two selections are the same, so that the component need not render again. */
export type IsEqual<Selected> = (a: Selected, b: Selected) => boolean;

/** The whole state. */
export const all = <State>(state: State): State => state;

/** A part of a store's state. The component renders again only when the part changes. */
export function useStore<State, Selected>(
  store: LiveStore<State>,
  select: (state: State) => Selected,
  isEqual: IsEqual<Selected> = Object.is,
): Selected {
  /** What the component shows, so that a selection that is equal to it is the same object. */
  const shown = useRef<{ value: Selected } | null>(null);
  const [get, getServer] = useMemo(() => {
    let last: { state: State; value: Selected } | null = null;
    const selection = (state: State): Selected => {
      if (last !== null && last.state === state) return last.value;
      const value = select(state);
      const before = last ?? shown.current;
      const stable = before !== null && isEqual(before.value, value) ? before.value : value;
      last = { state, value: stable };
      return stable;
    };
    // React compares two readings of the server's snapshot too: they must be the same object.
    return [() => selection(store.get()), () => selection(store.initial)];
  }, [store, select, isEqual]);
  const value = useSyncExternalStore(store.subscribe, get, getServer);
  useEffect(() => {
    shown.current = { value };
  }, [value]);
  return value;
}
