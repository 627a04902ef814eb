import type { ChangeCounts } from '@rollcall/protocol';
import { type ApiAnswer, type ApiConnection, ApiError, errorOf } from './api-connection.ts';
import type { BatchLimits } from './batch-planner.ts';
import type { Entry, Kind } from './roster-entry.ts';
import type { Changes, Submit, Verdict } from './submit-lines.ts';

/** Items that a dry run sends before the lines, as JSON texts: what the lines need to have been applied. */
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

/** No smaller batches are made, however little the server takes. */
const BATCH_MIN_BYTES = 1_024;

/** Applies lines in one batch. Where the server finds it too large, later batches are smaller. */
export function applyLines(connection: ApiConnection, limits: BatchLimits): Submit {
  return async (entries) => {
    const body = batchBody(entries);
    const verdict = verdictOf(await connection.request('POST', '/v1/batch', body), entries);
    if (verdict.kind === 'tooLarge') {
      const half = Math.max(Buffer.byteLength(body) >> 1, BATCH_MIN_BYTES);
      limits.bytes = Math.min(limits.bytes, half);
    }
    return verdict;
  };
}

/** The error codes that are about the content of a line. */
const LINE_ERRORS = new Set(['unexpected_field', 'missing_field', 'invalid_field', 'user_not_found']);

/** The outcome of each line, from the answer to its batch. @throws ApiError where the answer is about something else */
export function verdictOf(
  { status, json }: ApiAnswer,
  entries: readonly Entry[],
  context: Context = NO_CONTEXT,
): Verdict {
  if (status === 200) return { kind: 'applied', changes: changesOf(json) };
  const { error, message } = errorOf(json);
  if (status === 413) return { kind: 'tooLarge', reason: `${error}: ${message}` };
  if (!LINE_ERRORS.has(error)) throw new ApiError(`the server answers ${status} ${error}: ${message}`);
  const paths = pathsOf(entries, context);
  return {
    kind: 'rejected',
    reason: reasonFor(`${error}: ${message}`, paths),
    blamed: blamedBy(message, paths),
  };
}

/** The JSON path of each line in the body, such as `users[3]`, and the position of the line. */
function pathsOf(entries: readonly Entry[], context: Context): Map<string, number> {
  const next = { user: context.users.length, group: context.groups.length };
  return new Map(
    entries.map(({ kind }, position) => {
      const index = next[kind];
      next[kind] = index + 1;
      return [`${kind}s[${index}]`, position];
    }),
  );
}

function blamedBy(message: string, paths: ReadonlyMap<string, number>): number[] {
  const named = message.matchAll(/\b(?:users|groups)\[\d+\]/g);
  const positions = [...named].flatMap(([path]) => paths.get(path) ?? []);
  return [...new Set(positions)];
}

/** The reason without the path of a line that was sent alone, which means nothing to the reader of a file. */
function reasonFor(reason: string, paths: ReadonlyMap<string, number>): string {
  const [only] = paths.keys();
  return paths.size === 1 && only !== undefined ? reason.replaceAll(`${only}.`, '') : reason;
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
