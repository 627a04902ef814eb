/** The origin of what tests write. */
import type { ConditionalContext, Origin } from '../../src/store/write-context.ts';

export const BY_TEST: Origin = { actor: { kind: 'service', id: null }, requestId: null };

/** For writes whose time and revision do not matter. */
export const CONTEXT: ConditionalContext = { now: 1, revision: 'r', ...BY_TEST };
