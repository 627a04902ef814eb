import { ACTOR_KINDS, CHANGE_TYPES } from '@rollcall/protocol';
import { actorText } from '../../store/actor-text.ts';
import type { Change } from '../../store/changes/changes.ts';
import type { ChangeRecord } from '../../store/ports/changes.ts';
import { unpackIds } from '../../store/worker-threads/packed-ids.ts';

/** Which changes a reader requests; a field that is undefined does not filter. */
export interface ChangeFilter {
  readonly types?: ReadonlySet<string> | undefined;
  readonly group?: string | undefined;
  readonly user?: string | undefined;
  /** A kind, or `kind:id`. */
  readonly actor?: string | undefined;
  readonly requestId?: string | undefined;
}

const KINDS: ReadonlySet<string> = new Set(ACTOR_KINDS);

/** The types that a list with commas names, where `member.*` names all that begin so. Null where one of them does not exist. */
export function readTypes(list: string): Set<string> | null {
  const found = new Set<string>();
  for (const name of list.split(',')) {
    const types = CHANGE_TYPES.filter((type) =>
      name.endsWith('.*') ? type.startsWith(name.slice(0, -1)) : type === name,
    );
    if (types.length === 0) return null;
    for (const type of types) found.add(type);
  }
  return found;
}

export const isActor = (text: string): boolean => KINDS.has(text.split(':', 1)[0] as string);

/** Whether the actor and the request of a record match a filter. */
export function matchesRecord({ actor, requestId }: ChangeFilter, record: ChangeRecord): boolean {
  if (requestId !== undefined && record.requestId !== requestId) return false;
  return actor === undefined || actor === record.actor.kind || actor === actorText(record.actor);
}

/** Whether a change of such a record matches the filter. */
export function matchesChange({ types, group, user }: ChangeFilter, change: Change): boolean {
  if (types !== undefined && !types.has(change.type)) return false;
  if (group !== undefined && !('group' in change && change.group === group)) return false;
  if (user === undefined || ('user' in change && change.user === user)) return true;
  return 'users' in change && unpackIds(change.users).includes(user);
}
