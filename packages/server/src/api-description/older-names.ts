/** How the API description shows the older name of a group: see `http/older-names.ts`. */
import { olderPath } from '../http/older-names.ts';
import type { AnyOperation } from '../http/operation.ts';

const OLDER_TAG = {
  name: 'organizations',
  description:
    'The older name of groups: the same data, the same bodies and answers, for hosts that still call a group an organization. What does not exist is `organization_not_found`.',
};

/** The operation at its older path, in the older word. Error codes stay the same, except the one of what does not exist. */
export function underOlderName(operation: AnyOperation): AnyOperation[] {
  const path = olderPath(operation.path);
  if (path === null) return [];
  const { id, summary, body, answer, errors } = operation;
  const prose = JSON.stringify({ summary, examples: body?.examples, answer, errors })
    .replaceAll('group_not_found', 'organization_not_found')
    .replaceAll(/\b(a)( group\b)/gi, '$1n$2')
    .replaceAll(/\bgroup(s?)\b/g, 'organization$1');
  const { examples, ...renamed } = JSON.parse(prose);
  return [
    {
      ...operation,
      ...renamed,
      answer: { ...renamed.answer, schema: answer.schema },
      ...(body !== undefined && { body: { ...body, examples } }),
      id: id.replace('Group', 'Organization'),
      path,
      tag: OLDER_TAG,
      description: `The older name of \`${operation.path.split('/:', 1)[0]}\`: it does the same.`,
    },
  ];
}

export const isOlderName = ({ tag }: AnyOperation): boolean => tag === OLDER_TAG;
