/** Optimistic concurrency: ETags are revisions in quotes. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Precondition, Revision } from '../store/precondition.ts';
import type { Exchange } from './exchange.ts';
import { NOT_MODIFIED } from './reply.ts';

export const etag = (revision: Revision) => `"${revision}"`;

export function precondition(headers: IncomingHttpHeaders): Precondition {
  const ifMatch = headers['if-match'];
  const ifNoneMatch = headers['if-none-match'];
  return {
    ...(ifMatch !== undefined && { ifMatch: revisions(ifMatch, false) }),
    ...(ifNoneMatch !== undefined && { ifNoneMatch: revisions(ifNoneMatch, true) }),
  };
}

/** The answer of a read, with the `ETag` of its revision; 304 where the reader already has this revision. */
export function taggedReply<Body>(
  exchange: Pick<Exchange, 'headers' | 'setHeader'>,
  revision: Revision,
  present: () => Body,
): Body | typeof NOT_MODIFIED {
  exchange.setHeader('etag', etag(revision));
  return isFresh(exchange.headers, revision) ? NOT_MODIFIED : present();
}

/** Whether the reader already has this revision. */
export function isFresh(headers: IncomingHttpHeaders, revision: Revision): boolean {
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch === undefined) return false;
  const known = revisions(ifNoneMatch, true);
  return known === '*' || known.includes(revision);
}

/** RFC 9110: `If-None-Match` compares weakly, `If-Match` strongly, so that a weak tag never matches there. */
function revisions(header: string, weak: boolean): '*' | Revision[] {
  // A sender, or a proxy before us, may repeat the header: Node joins its values.
  const members = header.replaceAll(/"[^"]*"/g, '""').split(',');
  if (members.some((member) => member.trim() === '*')) return '*';
  return [...header.matchAll(/(?<=^|[\s,])(W\/)?"([^"]*)"/g)]
    .filter(([, isWeak]) => weak || isWeak === undefined)
    .map(([, , revision = '']) => revision);
}
