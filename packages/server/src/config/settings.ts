import {
  SETTING_NAMES,
  SETTINGS,
  type SettingDefinition,
  type SettingName,
  type Settings,
} from './setting-definitions.ts';

export type { Settings } from './setting-definitions.ts';

/** Bad settings. The message is one line for the operator, without any secret. */
export class SettingsError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;
/** Texts of flags by the setting they belong to. */
export type FlagTexts = { readonly [Name in SettingName]?: string | undefined };

/** A setting's value and where it came from. */
export interface SettingSource {
  readonly name: SettingName;
  readonly from: 'flag' | 'environment' | 'default';
  /** Absent where the default is taken. */
  readonly text?: string;
}

/** The source of each setting: a flag wins, and an empty variable counts as absent. */
export function settingSources(environment: Environment, flags: FlagTexts = {}): SettingSource[] {
  return SETTING_NAMES.map((name) => {
    const flag = flags[name];
    if (flag !== undefined) return { name, from: 'flag', text: flag };
    const variable = environment[SETTINGS[name].env];
    if (variable !== undefined && variable !== '') return { name, from: 'environment', text: variable };
    return { name, from: 'default' };
  });
}

/** Reads all settings. @throws SettingsError naming every bad value in one line */
export function loadSettings(environment: Environment, flags: FlagTexts = {}): Settings {
  const settings = readSettings(settingSources(environment, flags)) as Settings;
  const problems = halfPairs(settings);
  if (problems.length > 0) throw new SettingsError(problems.join('; '));
  return settings;
}

/** Reads these settings alone: a command ignores bad values of settings that it does not use. @throws SettingsError as above */
export function loadOnly<Name extends SettingName>(
  names: readonly Name[],
  environment: Environment,
): Pick<Settings, Name> {
  const sources = settingSources(environment).filter(({ name }) => names.includes(name as Name));
  return readSettings(sources) as Pick<Settings, Name>;
}

function readSettings(sources: readonly SettingSource[]): Partial<Settings> {
  const values = new Map<SettingName, Settings[SettingName]>();
  const problems: string[] = [];
  for (const source of sources) {
    const value = readSetting(source);
    if (value === undefined) problems.push(badValue(source));
    else values.set(source.name, value);
  }
  if (problems.length > 0) throw new SettingsError(problems.join('; '));
  return Object.fromEntries(values);
}

function readSetting({ name, text }: SettingSource): Settings[SettingName] | undefined {
  const definition = SETTINGS[name] as SettingDefinition;
  return text === undefined ? definition.default : definition.kind.read(text);
}

function badValue({ name, from, text = '' }: SettingSource): string {
  const definition = SETTINGS[name] as SettingDefinition;
  const given = definition.secret === true ? 'the value given' : JSON.stringify(text);
  return `${from === 'flag' ? definition.flag : definition.env}: expected ${definition.kind.expected}, not ${given}`;
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
