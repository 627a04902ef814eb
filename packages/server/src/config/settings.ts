import {
  type Environment,
  fileVariableOf,
  readValueFile,
  SettingsError,
  type VariableSource,
  variableSource,
} from './environment.ts';
import {
  SETTING_NAMES,
  SETTINGS,
  type SettingDefinition,
  type SettingName,
  type Settings,
} from './setting-definitions.ts';

export { type Environment, SettingsError } from './environment.ts';
export type { Settings } from './setting-definitions.ts';

/** Texts of flags by the setting they belong to. */
export type FlagTexts = { readonly [Name in SettingName]?: string | undefined };

/** Where a setting's value comes from. */
export type SettingSource = { readonly name: SettingName } & (
  | { readonly from: 'flag'; readonly text: string }
  | VariableSource
  | { readonly from: 'default' }
);

/**
 * The source of each setting: a flag wins, and an empty variable counts as absent.
 * @throws SettingsError where a variable and its file variable are both set
 */
export function settingSources(environment: Environment, flags: FlagTexts): SettingSource[] {
  return SETTING_NAMES.map((name) => settingSource(name, environment, flags));
}

function settingSource(name: SettingName, environment: Environment, flags: FlagTexts): SettingSource {
  const flag = flags[name];
  if (flag !== undefined) return { name, from: 'flag', text: flag };
  const { env, secret } = SETTINGS[name] as SettingDefinition;
  const { [env]: text } = environment;
  const variables = secret === true ? environment : { [env]: text };
  return { name, ...(variableSource(variables, env) ?? { from: 'default' }) };
}

/** Reads all settings. @throws SettingsError naming every bad value in one line */
export function loadSettings(environment: Environment, flags: FlagTexts = {}): Settings {
  const settings = readSettings(SETTING_NAMES, environment, flags) as Settings;
  const problems = halfPairs(settings);
  if (problems.length > 0) throw new SettingsError(problems.join('; '));
  return settings;
}

/** Reads these settings alone: a command ignores bad values of settings that it does not use. @throws SettingsError as above */
export function loadOnly<Name extends SettingName>(
  names: readonly Name[],
  environment: Environment,
  flags: FlagTexts = {},
): Pick<Settings, Name> {
  return readSettings(names, environment, flags) as Pick<Settings, Name>;
}

function readSettings(
  names: readonly SettingName[],
  environment: Environment,
  flags: FlagTexts,
): Partial<Settings> {
  const values = new Map<SettingName, Settings[SettingName]>();
  const problems: string[] = [];
  for (const name of names) {
    try {
      values.set(name, readSetting(settingSource(name, environment, flags)));
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems.join('; '));
  return Object.fromEntries(values);
}

function readSetting(source: SettingSource): Settings[SettingName] {
  const definition = SETTINGS[source.name] as SettingDefinition;
  if (source.from === 'default') return definition.default;
  const { env, flag, kind } = definition;
  const variable = { flag, environment: env, file: fileVariableOf(env) }[source.from];
  const text = source.from === 'file' ? readValueFile(variable, source.path) : source.text;
  const value = kind.read(text);
  if (value !== undefined) return value;
  const given = definition.secret === true ? 'the value given' : JSON.stringify(text);
  throw new SettingsError(`${variable}: expected ${kind.expected}, not ${given}`);
}

/** Complaints about a bootstrap ID without its secret, or a secret without its ID. */
function halfPairs(settings: Settings): string[] {
  const pairs = [
    ['customerId', 'customerSecret'],
    ['projectId', 'projectSecret'],
  ] as const;
  return pairs
    .filter(([id, secret]) => (settings[id] === null) !== (settings[secret] === null))
    .map(
      ([id, secret]) => `${SETTINGS[id].env} and ${SETTINGS[secret].env} go together: set both or neither`,
    );
}
