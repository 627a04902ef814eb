import type { BatchOutcome, Effects, Standing } from '../../src/store/store.ts';
import { shown } from '../support/standing.ts';

/**
 * What of a batch's effects the port settles: what is so after it and was not before. Who left and came back within
 * it, came and left, or was created and turned, may be named or not.
 */
export interface IsEffect {
  departure(group: string, user: string): Promise<boolean>;
  turn(user: string): Promise<boolean>;
  groupTurn(group: string): Promise<boolean>;
}

/** An outcome without what a driver may word or arrange as it likes. */
export async function comparableOutcome(outcome: unknown, isEffect: IsEffect): Promise<unknown> {
  if (typeof outcome !== 'object' || outcome === null) return outcome;
  const { kind } = outcome as BatchOutcome;
  if (kind === 'malformed') return { kind };
  if ('findings' in outcome) return { kind, findings: placesOf((outcome as Misfit).findings) };
  if ('standing' in outcome) return { kind, standing: shown(outcome.standing as Standing) };
  if (!('effects' in outcome)) return outcome;
  return { ...outcome, effects: await comparableEffects(outcome.effects as Effects, isEffect) };
}

type Misfit = Extract<BatchOutcome, { kind: 'misfit' }>;

const placesOf = ({ unexpected, missing, invalid }: Misfit['findings']) =>
  [unexpected, missing, invalid].map(({ count, named }) => ({
    count,
    places: named.map(({ place }) => place).sort(),
  }));

async function comparableEffects(effects: Effects, isEffect: IsEffect): Promise<unknown> {
  const pairs = effects.departures.flatMap(({ groupId, userIds }) =>
    userIds.map((user) => [groupId, user] as const),
  );
  const departures = await those(pairs, (pair) => isEffect.departure(...pair));
  return {
    departures: [...new Set(departures.map(String))].sort(),
    deactivated: (await those(effects.deactivated, isEffect.turn)).sort(),
    reactivated: (await those(effects.reactivated, isEffect.turn)).sort(),
    deactivatedGroups: (await those(effects.deactivatedGroups, isEffect.groupTurn)).sort(),
    reactivatedGroups: (await those(effects.reactivatedGroups, isEffect.groupTurn)).sort(),
  };
}

async function those<Value>(
  values: readonly Value[],
  test: (value: Value) => Promise<boolean>,
): Promise<Value[]> {
  const passed = await Promise.all(values.map(test));
  return values.filter((_, index) => passed[index]);
}
