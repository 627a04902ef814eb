import { createElement, type ReactElement } from 'react';
import { AvatarStack, type AvatarStackProps } from './avatar-stack.ts';
import type { PresenceOptions } from './presence-store.ts';
import { useOthers } from './use-others.ts';

/** Where to look, and how the faces are shown. */
export interface FacepileProps extends PresenceOptions, Omit<AvatarStackProps, 'people'> {}

/** The faces of the others who are present, live. Renders nothing while no user is present. */
export function Facepile(props: FacepileProps): ReactElement | null {
  const people = useOthers(props);
  if (people.length === 0) return null;
  return createElement(AvatarStack, { label: 'Also here', ...props, people });
}
