import type { ErrorCode } from '@rollcall/protocol';
import type { Example } from './openapi-document.ts';

/** What a reader wants to know of a query parameter. `example` is one that the operation takes. */
export interface QueryNote {
  readonly description: string;
  readonly default?: unknown;
  readonly example?: unknown;
}

/**
 * What the description says of an operation beyond its route: prose and examples. They are apart from the routes because
 * they are loaded only when somebody asks for the description.
 */
export interface OperationNotes {
  /** In place of the route's own, where two routes do the same. */
  readonly summary?: string;
  /** CommonMark; follows the route's own description. */
  readonly description?: string;
  readonly query?: Readonly<Record<string, QueryNote>>;
  /** Request bodies that the operation takes. */
  readonly bodies?: Readonly<Record<string, Example>>;
  /** What the success means. */
  readonly success: string;
  /** The body of a success: the answer to the first of `bodies`, where there are any. */
  readonly answer: unknown;
  /** The same of a success that is a stream of events. */
  readonly stream?: string;
  /** `read`: If-None-Match answers 304. `write`: If-Match. `put`: both, where `If-None-Match: *` only creates. */
  readonly conditions?: 'read' | 'write' | 'put';
  /** The `Link` header names the next page. */
  readonly linksNext?: true;
  /** When codes are answered that do not follow from token, path, query and body, or do so for a reason of their own. */
  readonly refusals?: Readonly<Partial<Record<ErrorCode, string>>>;
  /** When 503 is answered, where that is not simply that the store is away. */
  readonly unavailable?: string;
}

export type NotesByOperation = Readonly<Record<string, OperationNotes>>;

/** The answer of a write. */
export const doneExample = (message: string) => ({ success: true, message });
