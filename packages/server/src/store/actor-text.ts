import type { Actor, ActorKind } from './write-context.ts';

/** An actor as it is stored: `kind:id`, or the kind where there is no ID. */
export const actorText = ({ kind, id }: Actor): string => (id === null ? kind : `${kind}:${id}`);

export function actorOf(text: string): Actor {
  const colon = text.indexOf(':');
  if (colon === -1) return { kind: text as ActorKind, id: null };
  return { kind: text.slice(0, colon) as ActorKind, id: text.slice(colon + 1) };
}
