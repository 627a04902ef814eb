import type { NotesByOperation } from '../operation-notes.ts';

export const BATCH_NOTES: NotesByOperation = {
  applyBatch: {
    description:
      'An existing ID is updated with what is supplied, another one is created. Users come first, so a group can name users of the same call; within a list, items apply in order. On any error nothing was applied, and the message names every item that failed (the first 20, then a count).',
    query: {
      dry_run: { description: 'Check and count, and apply nothing.', default: false, example: true },
    },
    bodies: {
      roster: {
        summary: 'Two users and their group',
        value: {
          users: [
            { id: 'ada', name: 'Ada Lovelace', email: 'ada@example.com' },
            { id: 'grace', name: 'Grace Hopper' },
          ],
          groups: [{ id: 'analysts', name: 'Analysts', members: ['ada', 'grace'] }],
        },
      },
      lockOut: { summary: 'Lock one user out', value: { users: [{ id: 'grace', status: 'deleted' }] } },
      restore: { summary: 'Let her back in', value: { users: [{ id: 'grace', status: 'active' }] } },
    },
    success: 'The whole batch was applied, or, with `dry_run`, would be.',
    answer: {
      success: true,
      message: 'batch updated 2 users and 1 group',
      users: { created: 2, updated: 0, unchanged: 0 },
      groups: { created: 1, updated: 0, unchanged: 0 },
    },
    refusals: {
      missing_field: 'An item has no `id`, or a group that does not exist yet has no `name`.',
      invalid_field: 'A value is wrong, or a list is longer than a batch takes.',
      user_not_found: 'A user of some `members` neither exists nor is in the batch.',
    },
  },
};
