'use client';
// Where components of a server render these, as in Next.js, they are components of the page.

export { type AvatarPerson, AvatarStack, type AvatarStackProps } from './avatar-stack.ts';
export { Facepile, type FacepileProps } from './facepile.ts';
export type { PresenceData, PresenceOptions, PresentUser } from './presence-store.ts';
export { RollcallProvider, type RollcallProviderProps, useRollcall } from './rollcall-provider.ts';
export type { MessageContent } from './send-queue.ts';
export type { ThreadMessage } from './thread-state.ts';
export { useConnectionStatus } from './use-connection-status.ts';
export { type UseMembers, useMembers } from './use-members.ts';
export {
  type MyPresence,
  type MyPresenceOptions,
  type MyPresenceState,
  useMyPresence,
} from './use-my-presence.ts';
export { useOthers, usePresenceError, useSelf } from './use-others.ts';
export type { IsEqual } from './use-store.ts';
export { type ThreadToCreate, type UseThread, useThread } from './use-thread.ts';
export { type ThreadsOptions, type UseThreads, useThreads } from './use-threads.ts';
export { useViewer, type ViewerState } from './use-viewer.ts';
