import type { Origin } from '../../store/write-context.ts';

/** The origin of what the service writes by itself. */
export const BY_SERVICE: Origin = { actor: { kind: 'service', id: null }, requestId: null };
export const BY_COMMAND_LINE: Origin = { actor: { kind: 'command_line', id: null }, requestId: null };
