import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '@rollcall/protocol';
import { type RedisScript, redisScript } from '../../redis/redis-script.ts';
import { PROCESS_CLOCK_TOLERANCE_MS } from '../../values/clock-tolerance.ts';
import {
  HISTORY_LENGTH,
  HISTORY_MAX_LENGTH,
  READING_MAX_BYTES,
  READING_MAX_PRESENCES,
  WATCH_LEASE_MS,
} from '../presence-store.ts';

/** How long keys outlive their last deadline when no process sweeps, in milliseconds: two days. */
export const RETENTION_MS = 172_800_000;
/** How long a history outlives the last renewal of a watch, in milliseconds by the clock of Redis. */
const HISTORY_MS = 2 * WATCH_LEASE_MS;

/** Length of an event's checksum, in hexadecimal digits. */
export const CHECKSUM_LENGTH = 12;
/** How late a sweep may be, in milliseconds. */
const SWEEP_LATE_MS = 4_000;
/** So long after it was due, a group's entry in the index of due groups counts as lost, in milliseconds. */
const OVERDUE_MS = SWEEP_LATE_MS + PROCESS_CLOCK_TOLERANCE_MS;

/** The scripts of lua/ for a database of a server or a cluster. Each file documents its keys and arguments. */
export function presenceScripts(db: number, publish: 'PUBLISH' | 'SPUBLISH') {
  const constants = [
    `local PUBLISH, DB = '${publish}', '${db}'`,
    `local HISTORY_LENGTH = ${HISTORY_LENGTH}`,
    `local HISTORY_MAX_BYTES = ${HISTORY_MAX_LENGTH}`,
    `local HISTORY_MS = ${HISTORY_MS}`,
    `local RETENTION_MS = ${RETENTION_MS}`,
    `local CHECKSUM_LENGTH = ${CHECKSUM_LENGTH}`,
    `local OVERDUE_MS = ${OVERDUE_MS}`,
    `local LOCATION_MAX_BYTES = ${limits.LOCATION_MAX_BYTES}`,
    `local LOCATIONS_MAX = ${limits.EPHEMERAL_LOCATIONS_MAX}`,
    `local LOCATIONS_MAX_BYTES = ${limits.EPHEMERAL_LOCATIONS_MAX_BYTES}`,
    `local CONNECTIONS_MAX = ${limits.CONNECTIONS_MAX}`,
    `local HOLDS_MAX = ${limits.HOLDS_MAX}`,
    `local READING_MAX_BYTES = ${READING_MAX_BYTES}`,
    `local READING_MAX_PRESENCES = ${READING_MAX_PRESENCES}\n`,
  ].join('\n');
  const head = constants + text('overdue');
  const group = text('group') + text('group-history') + text('group-events');
  const ofGroup = (name: string, before = ''): RedisScript => redisScript(head + before + group + text(name));
  const ofIndex = (name: string): RedisScript => redisScript(text(name));
  return {
    set: ofGroup('set', text('refresh')),
    clear: ofGroup('clear'),
    release: ofGroup('release'),
    retain: ofGroup('retain'),
    holdsOf: ofGroup('holds-of'),
    renewLease: ofGroup('renew-lease'),
    find: ofGroup('find'),
    locationsOf: ofGroup('locations-of'),
    removeUsers: ofGroup('remove-users'),
    removeGroup: ofGroup('remove-group'),
    expire: ofGroup('expire'),
    watch: ofGroup('watch'),
    renew: ofGroup('renew'),
    since: ofGroup('since'),
    publish: ofGroup('publish'),
    addToIndex: ofIndex('add-to-index'),
    claim: ofIndex('claim'),
    reschedule: ofIndex('reschedule'),
  };
}

export type PresenceScripts = ReturnType<typeof presenceScripts>;

function text(name: string): string {
  return readFileSync(join(import.meta.dirname, 'lua', `${name}.lua`), 'utf8');
}
