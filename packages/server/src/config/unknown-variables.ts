import { type Environment, fileVariableOf } from './environment.ts';
import { SETTING_NAMES, SETTINGS, type SettingDefinition } from './setting-definitions.ts';

const PREFIX = 'ROLLCALL_';
/** Variables of the commands that talk to a running server or copy a store, and of the test suites. */
const NOT_SETTINGS = /^ROLLCALL_(?:(?:TOKEN|URL|(?:FROM|TO)_DATABASE_URL)(?:_FILE)?$|TEST_)/;
/** A name with more changed letters is another word, not a misspelling. */
const MISSPELLING_MAX_EDITS = 4;

/** A line for the operator about each variable that begins like a setting and is none: most likely a misspelling. */
export function unknownVariables(environment: Environment): string[] {
  const known = SETTING_NAMES.flatMap((name) => {
    const { env, secret } = SETTINGS[name] as SettingDefinition;
    return secret === true ? [env, fileVariableOf(env)] : [env];
  });
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !NOT_SETTINGS.test(name) && !known.includes(name))
    .sort()
    .map((name) => {
      const nearest = nearestOf(name, known);
      return `${name} is not a setting${nearest === null ? '' : `: did you mean ${nearest}?`}`;
    });
}

/** The setting that was probably meant; null where no name is near. */
function nearestOf(name: string, known: readonly string[]): string | null {
  const [best] = known
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
    .sort((a, b) => a.edits - b.edits);
  return best !== undefined && best.edits <= MISSPELLING_MAX_EDITS ? best.candidate : null;
}

/** The Levenshtein distance: how many letters are inserted, removed or replaced between the two texts. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
