import { useCallback } from 'react';
import {
  type GroupPresence,
  type PresenceOptions,
  type PresentUser,
  presenceStore,
} from './presence-store.ts';
import { useProvided } from './rollcall-provider.ts';
import { all, type IsEqual, useStore } from './use-store.ts';
import { useViewerID } from './use-viewer.ts';

/** Where the hooks of presence read, and with which group. */
function usePresenceStore(options: PresenceOptions) {
  const { client, groupID } = useProvided(options.groupID);
  return presenceStore(client, { ...options, groupID });
}

/** Whether two lists have the same items. React compares other values itself. */
const isSameList: IsEqual<unknown> = (a, b) =>
  Array.isArray(a) &&
  Array.isArray(b) &&
  a.length === b.length &&
  a.every((item, at) => Object.is(item, b[at]));

/**
 * The other users who are present, in order of ID. With `select`, what it returns of them; the component renders again only
 * when that changes. Lists are compared item by item, other values with `Object.is`, or with `isEqual`.
 */
export function useOthers(options?: PresenceOptions): readonly PresentUser[];
export function useOthers<Selected>(
  options: PresenceOptions,
  select: (others: readonly PresentUser[]) => Selected,
  isEqual?: IsEqual<Selected>,
): Selected;
export function useOthers(
  options: PresenceOptions = {},
  select: (others: readonly PresentUser[]) => unknown = all,
  isEqual: IsEqual<unknown> = isSameList,
): unknown {
  const viewerID = useViewerID();
  const selected = useCallback(
    ({ users }: GroupPresence) => select(viewerID === null ? [] : users.filter(({ id }) => id !== viewerID)),
    [viewerID, select],
  );
  return useStore(usePresenceStore(options), selected, isEqual);
}

/** The viewer as the others see them; null while they are not present. */
export function useSelf(options: PresenceOptions = {}): PresentUser | null {
  const viewerID = useViewerID();
  const selected = useCallback(
    ({ users }: GroupPresence) => users.find(({ id }) => id === viewerID) ?? null,
    [viewerID],
  );
  return useStore(usePresenceStore(options), selected);
}

const errorOf = ({ error }: GroupPresence) => error;

/** Why the presence of the group cannot be watched; null while it can. */
export const usePresenceError = (options: PresenceOptions = {}): GroupPresence['error'] =>
  useStore(usePresenceStore(options), errorOf);
