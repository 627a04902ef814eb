import type { Change } from '../../src/store/changes/changes.ts';
import type { BatchOutcome } from '../../src/store/ports/batches.ts';
import type { Eligibility } from '../../src/store/ports/eligibility.ts';
import { changeTexts } from '../contract/store/entries.ts';
import { shown } from '../support/shown-eligibility.ts';

/**
 * An outcome without the parts that a driver may choose: wording and order; of a list, each outcome. A field that a batch changed
 * and changed back may be named or not: it is omitted where `expected` does not name it.
 */
export function comparableOutcome(outcome: unknown, expected: unknown): unknown {
  if (typeof outcome !== 'object' || outcome === null) return outcome;
  const { kind } = outcome as BatchOutcome;
  if (kind === 'malformed') return { kind };
  if ('errors' in outcome) return { kind, errors: pathsOf((outcome as InvalidBatch).errors) };
  if ('eligibility' in outcome) return { kind, eligibility: shown(outcome.eligibility as Eligibility) };
  if ('outcomes' in outcome)
    return (outcome.outcomes as unknown[]).map((each) => comparableOutcome(each, each));
  if (!('changes' in outcome)) return outcome;
  const named = new Set(textsOf(expected));
  const changes = textsOf(outcome).filter(
    (text) => kind !== 'applied' || named.has(text) || !/\.updated /.test(text),
  );
  return { ...outcome, changes: changes.sort() };
}

const textsOf = (outcome: unknown): string[] =>
  changeTexts((outcome as { readonly changes?: readonly Change[] } | null)?.changes ?? []);

type InvalidBatch = Extract<BatchOutcome, { kind: 'invalid' }>;

const pathsOf = ({ unexpected, missing, invalid }: InvalidBatch['errors']) =>
  [unexpected, missing, invalid].map(({ count, named }) => ({
    count,
    paths: named.map(({ path }) => path).sort(),
  }));
