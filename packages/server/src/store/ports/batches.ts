import type { ChangeCounts, ValidationErrors } from '@rollcall/protocol';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Change } from '../changes/changes.ts';
import type { IdSample } from '../outcomes.ts';
import type { WriteContext } from '../write-context.ts';

/**
 * A batch as it arrived: the bytes of the request, so that an engine can read them away from the event loop. They are the
 * engine's from then on: it may transfer them to a thread, and the caller must not use them again.
 */
export interface BatchRequest {
  readonly body: Uint8Array;
  /** Check and count, apply nothing. */
  readonly dryRun: boolean;
}

/** Users of a batch who do not exist, and the JSON path of the list that names them, as `groups[7].members`. */
export interface UnknownReference {
  readonly path: string;
  readonly users: IdSample;
}

export type BatchOutcome =
  | {
      readonly kind: 'applied';
      readonly users: ChangeCounts;
      readonly groups: ChangeCounts;
      /**
       * Of a resource that the batch names more than once: the difference that the whole batch makes. `fields` may also
       * name a field that has the value again that it had before.
       */
      readonly changes: readonly Change[];
    }
  /** The body is not a JSON object; the message has the reason and is safe to show. */
  | { readonly kind: 'malformed'; readonly message: string }
  /** The body does not fit the schema; a group that would be created without a name is among `missing`. */
  | {
      readonly kind: 'invalid';
      readonly errors: Pick<ValidationErrors, 'unexpected' | 'missing' | 'invalid'>;
    }
  /** At most the first 20 items that name unknown users, and how many there are. */
  | {
      readonly kind: 'unknownUsers';
      readonly references: readonly UnknownReference[];
      readonly count: number;
    };

/** Many users and groups at once. */
export interface BatchStore {
  /**
   * Applies a batch: users first, then groups, each list in order, all or nothing. The driver reads the body with
   * `readBatch` of store/batch-document.ts, which defines what is valid.
   */
  apply(project: ProjectKey, batch: BatchRequest, context: WriteContext): Promise<BatchOutcome>;
}
