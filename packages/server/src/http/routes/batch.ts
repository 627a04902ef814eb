import type { ChangeCounts } from '@rollcall/protocol';
import { Batch, BatchDone } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import type { BatchApplied } from '../../core/batch-service.ts';
import type { Services } from '../../services.ts';
import { answers, BatchQuery } from '../schemas.ts';

const NO_BODY = new Uint8Array();

/** The atomic batch. Its bytes go to the store unread, so that a large one holds up nobody. */
export function batchRoutes(app: FastifyInstance, { batches, settings }: Services): void {
  const schema = {
    operationId: 'applyBatch',
    summary: 'Create or update many users and groups, all or nothing',
    tags: ['batch'],
    querystring: BatchQuery,
    body: Batch,
    response: answers(BatchDone),
  };
  const config = { rawBody: true, refusesMisfit: true };
  const route = { schema, config, bodyLimit: settings.bodyLimitBytes };
  app.post<{ Body: Uint8Array | undefined; Querystring: { dry_run?: boolean } }>(
    '/v1/batch',
    route,
    async ({ caller, body = NO_BODY, query, misfit }) => {
      if (misfit !== null) return batches.refuse(caller.project, body, misfit);
      const dryRun = query.dry_run === true;
      return presentBatch(await batches.apply(caller.project, { body, dryRun }), dryRun);
    },
  );
}

function presentBatch({ users, groups }: BatchApplied, dryRun: boolean): string {
  const counts = `${counted(users, 'user')} and ${counted(groups, 'group')}`;
  const message = dryRun ? `batch would update ${counts}` : `batch updated ${counts}`;
  return JSON.stringify({ success: true, message, users, groups });
}

function counted({ created, updated, unchanged }: ChangeCounts, noun: string): string {
  const count = created + updated + unchanged;
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
