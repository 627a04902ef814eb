/** The common parts of random operations of the Store. */
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';

/** One operation, to be run on the engine and on the model alike. */
export interface Step {
  /** The description of the step, for the report of a failure. */
  readonly text: string;
  run(store: Store, project: ProjectKey): Promise<unknown>;
}

/** IDs whose order differs between UTF-16 units and code points. */
export const USERS = ['ann', 'bob', "o'cid", '\u{ff21}', '\u{1f600}', '\u{1f600}x'] as const;
export const GROUPS = ['g', 'g/h', '\u{fb01}', '\u{1d306}'] as const;
/** The user IDs of requests: the users, and sometimes an ID that is never created. */
export const NAMED = [...USERS, ...USERS, ...USERS, 'nobody'];

export const NAMES = ['One', 'Two', '"3"'];
export const METADATA = [{}, { a: 1 }, { a: '\0', b: [null] }, JSON.parse('{"__proto__":1}')];
export const LOCATIONS = ['{"page":"1"}', '{"site":"1"}', '{"page":"1","paragraph":"7"}', '{"page":"2"}'];

export function step(name: string, parameters: readonly unknown[], run: Step['run']): Step {
  return { text: `${name}(${parameters.map((parameter) => JSON.stringify(parameter)).join(', ')})`, run };
}
