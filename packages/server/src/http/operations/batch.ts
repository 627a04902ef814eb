import { Batch, BatchDone, exactly, Flag, maybe, meaning } from '@rollcall/protocol';
import { presentBatch } from '../../wire/presenters.ts';
import { operationsOf } from '../operation.ts';

const operation = operationsOf('project', {
  name: 'batch',
  description: 'Many users and groups in one atomic call.',
});

const BatchQuery = exactly({
  dry_run: meaning(maybe(Flag), 'Check and count, and apply nothing.', {
    default: false,
    'x-example': true,
  }),
});

const NO_BODY = new Uint8Array();
/** The store reads the bytes on a thread, so that a large batch does not block the event loop. */
const bytesOf = (body: unknown) => (body as Uint8Array | undefined) ?? NO_BODY;

const applyBatch = operation('POST /v1/batch', {
  id: 'applyBatch',
  summary: 'Create or update many users and groups, all or nothing',
  description:
    'An existing ID is updated with what is supplied, another one is created. Users come first, so a group can name users of the same call; within a list, items apply in order. On any error nothing was applied, and the message names every item that failed (the first 20, then a count).',
  query: BatchQuery,
  body: {
    schema: Batch,
    isRaw: true,
    maxBytes: Number.POSITIVE_INFINITY,
    examples: {
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
  },
  answer: {
    schema: BatchDone,
    description: 'The whole batch was applied, or, with `dry_run`, would be.',
    example: {
      success: true,
      message: 'batch updated 2 users and 1 group',
      users: { created: 2, updated: 0, unchanged: 0 },
      groups: { created: 1, updated: 0, unchanged: 0 },
    },
  },
  errors: {
    missing_field: 'An item has no `id`, or a group that does not exist yet has no `name`.',
    invalid_field: 'A value is wrong, or a list is longer than a batch takes.',
    user_not_found: 'A user of some `members` neither exists nor is in the batch.',
  },
  rejectInvalid: ({ caller, body }, errors, { batches }) =>
    batches.rejectInvalid(caller.project, bytesOf(body), errors),
  async handle({ writer, body, query }, { batches }) {
    const dryRun = query.dry_run === true;
    return presentBatch(await batches.apply(writer, { body: bytesOf(body), dryRun }), dryRun);
  },
});

export const batchOperations = [applyBatch];
