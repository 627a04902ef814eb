import type { ValidationErrors } from '@rollcall/protocol';

/** The first error of a record, as the end of a sentence about it. */
export function complaintOf({ unexpected, missing, invalid }: ValidationErrors): string {
  const [extra, absent, wrong] = [unexpected.named[0], missing.named[0], invalid.named[0]];
  if (extra !== undefined) return `has an unexpected field ${extra.path}: expected ${extra.expected}`;
  if (absent !== undefined) return `has no ${absent.path}: expected ${absent.expected}`;
  return `has a wrong ${wrong?.path}: expected ${wrong?.expected}`;
}
