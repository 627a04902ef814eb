/** Records of threads and messages as the writes that import them. */
import { canonicalLocation } from '@rollcall/protocol';
import type { StoredContent, StoredMessageWrite } from '../ports/messages.ts';
import type { StoredThreadWrite } from '../ports/threads.ts';
import type { RecordOf } from '../transfer-records.ts';
import { storedContent } from './stored-content.ts';

const metadataOf = ({ metadata = {} }: { readonly metadata?: object | undefined }) =>
  JSON.stringify(metadata);

export function threadWriteOf(
  record: RecordOf<'thread'>,
): StoredThreadWrite & { readonly createdAt: number } {
  const { group: groupId, name, url, location, created_at: createdAt, resolved_at: resolvedAt } = record;
  return {
    ...{ groupId, name, url: url || null, metadata: metadataOf(record), createdAt },
    location: location === undefined ? null : canonicalLocation(location),
    ...(resolvedAt !== undefined && { resolvedAt }),
  };
}

/** A new message with all that one needs. */
export interface ImportedMessage extends StoredMessageWrite {
  readonly authorId: string;
  readonly content: StoredContent;
  readonly createdAt: number;
}

export function messageWriteOf(record: RecordOf<'message'>): ImportedMessage {
  const { author: authorId, message_type: type, content, url, created_at: createdAt } = record;
  const { updated_at: updatedAt, deleted_at: deletedAt } = record;
  return {
    ...{
      authorId,
      content: storedContent(content),
      url: url || null,
      metadata: metadataOf(record),
      createdAt,
    },
    ...(type !== undefined && { type }),
    ...(updatedAt !== undefined && { updatedAt }),
    ...(deletedAt !== undefined && { deletedAt }),
  };
}
