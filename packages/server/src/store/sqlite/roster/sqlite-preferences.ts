import { UNCHANGED } from '../../outcomes.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Reads, Writes } from '../sqlite-methods.ts';
import type { SqliteReader } from '../sqlite-reader.ts';

const FIND = 'SELECT send_via_messenger, send_via_email, user_no FROM users WHERE project_no = ? AND id = ?';
type ChannelsRow = [sendViaMessenger: number, sendViaEmail: number, userNo: number];

export function preferenceReads({ prepare }: SqliteReader): Reads<'preferences'> {
  const find = prepare<ChannelsRow>(FIND);
  return {
    async find(project, userId) {
      const row = find.get(project, userId);
      return row === undefined ? null : { sendViaMessenger: row[0] === 1, sendViaEmail: row[1] === 1 };
    },
  };
}

export function preferenceWrites({ prepare }: SqliteConnection): Writes<'preferences'> {
  const find = prepare<ChannelsRow>(FIND);
  const update = prepare('UPDATE users SET send_via_messenger = ?, send_via_email = ? WHERE user_no = ?');
  return {
    put(project, userId, { sendViaMessenger, sendViaEmail }) {
      const row = find.get(project, userId);
      if (row === undefined) return { kind: 'absent' };
      const [messenger, email, userNo] = row;
      const after = [Number(sendViaMessenger ?? messenger), Number(sendViaEmail ?? email)] as const;
      if (after[0] === messenger && after[1] === email) return UNCHANGED;
      update.run(...after, userNo);
      const change = {
        type: 'preferences.updated',
        user: userId,
        fields: ['notification_channels'],
      } as const;
      return { kind: 'updated', changes: [change] };
    },
  };
}
