import type { TransferRecord } from '../transfer-records.ts';

/** The whole store as a stream of records, for another store of either engine. */
export interface TransferStore {
  /**
   * All that the store has, of one state, while writes go on: what a record names comes before it. Deleted projects, the
   * log of changes and what is still to be purged are left out. A caller that stops early calls `return()` of the iterator.
   */
  export(): AsyncIterable<readonly TransferRecord[]>;
  /**
   * Writes the records into a store without customers and projects, all or nothing: where the stream or a record fails,
   * the store stays empty. Times, revisions and secrets are those of the records; memberships are new ones,
   * and so are the epochs and positions of threads. Webhooks that are not paused are `failing`, at no position. Authors,
   * participants and mentioned users need not exist, since messages stay without them. No server may use the store meanwhile.
   * @throws StoreNotEmptyError; TransferError for a record that contradicts the others; what the stream throws
   */
  import(batches: AsyncIterable<readonly TransferRecord[]>): Promise<void>;
  /**
   * Makes all positions of before invalid, because the database was restored from a copy of its own files: the epochs of changes and
   * threads are new ones, and webhooks that are not paused are `failing`, at no position. All or nothing. It writes each thread, so
   * writes of servers wait meanwhile.
   */
  beginEpoch(): Promise<void>;
}

/** The store of an import has customers or projects. Nothing was written. */
export class StoreNotEmptyError extends Error {
  constructor() {
    super('the target store is not empty: name an empty database, or a directory without a store');
  }
}

/** Records that contradict each other. The message names what is wrong. Nothing was written. */
export class TransferError extends Error {
  /** The record that does not fit; undefined where the records were compared at the end. */
  readonly record: TransferRecord | undefined;

  constructor(message: string, record?: TransferRecord, cause?: unknown) {
    super(message, { cause });
    this.record = record;
  }
}

/** Passes on the records whose customer or project came before them. @throws TransferError */
export async function* withKnownOwners(
  batches: AsyncIterable<readonly TransferRecord[]>,
): AsyncGenerator<readonly TransferRecord[]> {
  const customers = new Set<string>();
  const projects = new Set<string>();
  for await (const batch of batches) {
    for (const record of batch) {
      if (record.type === 'customer') customers.add(record.id);
      if (record.type === 'project') projects.add(record.id);
      if (record.type === 'project' && !customers.has(record.customer_id))
        throw new TransferError(`there is no earlier record of the customer ${record.customer_id}`, record);
      if ('project' in record && !projects.has(record.project))
        throw new TransferError(`there is no earlier record of the project ${record.project}`, record);
    }
    yield batch;
  }
}
