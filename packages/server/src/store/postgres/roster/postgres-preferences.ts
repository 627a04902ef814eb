import type { NotificationChannels } from '@rollcall/protocol';
import { columnsOf } from '../../columns.ts';
import type { PreferenceStore } from '../../ports/preferences.ts';
import { originOf, textOfChanges } from '../postgres-changes.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { rowUpdate, targetOf, updateRow } from '../postgres-row-writes.ts';

const CHANNELS = columnsOf<Required<NotificationChannels>>({
  sendViaMessenger: 'send_via_messenger',
  sendViaEmail: 'send_via_email',
});

const FIND = `SELECT ${CHANNELS.sql} FROM users WHERE project_id = $1 AND id = $2`;

const PUT = rowUpdate({
  table: 'users',
  columns: ['send_via_messenger', 'send_via_email'],
  lock: 'FOR NO KEY UPDATE',
  set: `send_via_messenger = coalesce($3::boolean, before.send_via_messenger),
    send_via_email = coalesce($4::boolean, before.send_via_email)`,
  condition: '(before.send_via_messenger <> $3::boolean OR before.send_via_email <> $4::boolean)',
  changes: '$8::text',
  originFrom: 5,
});

export function preferenceStore({ database }: PostgresEngine): PreferenceStore {
  return {
    find: (project, userId) => database.readOne(CHANNELS.toRecord, FIND, project, userId),
    put(project, userId, { sendViaMessenger = null, sendViaEmail = null }, context) {
      const change = textOfChanges([
        { type: 'preferences.updated', user: userId, fields: ['notification_channels'] },
      ]);
      const parameters = [sendViaMessenger, sendViaEmail, ...originOf(context), change];
      return database.operation(targetOf('user', project, userId), (attempt) =>
        updateRow(attempt, PUT, [project, userId, ...parameters]),
      );
    },
  };
}
