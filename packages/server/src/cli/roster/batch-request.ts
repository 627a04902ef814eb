import type { ChangeCounts } from '@rollcall/protocol';
import { type ApiAnswer, ApiError, errorOf } from './api-connection.ts';
import type { Entry, Kind } from './roster-entry.ts';
import type { Changes, Verdict } from './settle.ts';

/** Items that go before the lines themselves, as JSON texts: what a check of those lines needs to have been applied. */
export interface Context {
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

export const NO_CONTEXT: Context = { users: [], groups: [] };

/** The body of one batch: the context first, then the lines, in their order. */
export function batchBody(entries: readonly Entry[], context: Context = NO_CONTEXT): string {
  const users = [...context.users, ...jsonOf(entries, 'user')];
  const groups = [...context.groups, ...jsonOf(entries, 'group')];
  return `{"users":[${users.join(',')}],"groups":[${groups.join(',')}]}`;
}

const jsonOf = (entries: readonly Entry[], kind: Kind) =>
  entries.filter((entry) => entry.kind === kind).map(({ json }) => json);

/** The codes that are about what a line says. */
const LINE_ERRORS = new Set(['unexpected_field', 'missing_field', 'invalid_field', 'user_not_found']);

/** What the answer to a batch says about its lines. @throws ApiError where it is about something else */
export function verdictOf(
  { status, json }: ApiAnswer,
  entries: readonly Entry[],
  context: Context = NO_CONTEXT,
): Verdict {
  if (status === 200) return { kind: 'applied', changes: changesOf(json) };
  const { error, message } = errorOf(json);
  if (status === 413) return { kind: 'tooLarge', reason: `${error}: ${message}` };
  if (!LINE_ERRORS.has(error)) throw new ApiError(`the server answers ${status} ${error}: ${message}`);
  const places = placesOf(entries, context);
  return {
    kind: 'refused',
    reason: reasonFor(`${error}: ${message}`, places),
    blamed: blamedBy(message, places),
  };
}

/** Where the body has each of the lines: `users[3]`. */
function placesOf(entries: readonly Entry[], context: Context): Map<string, number> {
  const next = { user: context.users.length, group: context.groups.length };
  return new Map(
    entries.map(({ kind }, position) => {
      const index = next[kind];
      next[kind] = index + 1;
      return [`${kind}s[${index}]`, position];
    }),
  );
}

function blamedBy(message: string, places: ReadonlyMap<string, number>): number[] {
  const named = message.matchAll(/\b(?:users|groups)\[\d+\]/g);
  const positions = [...named].flatMap(([place]) => places.get(place) ?? []);
  return [...new Set(positions)];
}

/** The reason without the place of a line that was sent alone, which says nothing to the reader of a file. */
function reasonFor(reason: string, places: ReadonlyMap<string, number>): string {
  const [only] = places.keys();
  return places.size === 1 && only !== undefined ? reason.replaceAll(`${only}.`, '') : reason;
}

function changesOf(json: unknown): Changes {
  const { users, groups } = (json ?? {}) as { users?: unknown; groups?: unknown };
  if (isCounts(users) && isCounts(groups)) return { users, groups };
  throw new ApiError('the server answers a batch without counts: is there a Rollcall server at this URL?');
}

function isCounts(value: unknown): value is ChangeCounts {
  const { created, updated, unchanged } = (value ?? {}) as Record<string, unknown>;
  return [created, updated, unchanged].every((count) => Number.isInteger(count));
}
