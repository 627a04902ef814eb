import { type Command, Option } from 'commander';
import {
  SETTING_NAMES,
  SETTINGS,
  type SettingDefinition,
  type SettingName,
} from '../config/setting-definitions.ts';

/** Adds the flags of these settings to a command; their texts are read by `loadSettings`, not here. */
export function addSettingOptions(command: Command, names: readonly SettingName[] = SETTING_NAMES): Command {
  for (const name of names) command.addOption(settingOption(SETTINGS[name] as SettingDefinition));
  return command;
}

function settingOption(definition: SettingDefinition): Option {
  const byDefault = definition.default === null ? '' : `, default ${definition.default}`;
  const description = `${definition.doc.replace(/\.$/, '')} (${definition.env}${byDefault})`;
  return new Option(`${definition.flag} <${definition.placeholder}>`, description);
}
