import { Command, Option } from 'commander';
import { fileVariableOf } from '../config/environment.ts';
import {
  SETTING_NAMES,
  SETTINGS,
  type SettingDefinition,
  type SettingName,
} from '../config/setting-definitions.ts';

/** A command that can take settings as flags and has examples. */
export class RollcallCommand extends Command {
  /** Adds the flags of these settings; `loadSettings` reads their texts. */
  settings(names: readonly SettingName[] = SETTING_NAMES): this {
    for (const name of names) this.addOption(settingOption(SETTINGS[name] as SettingDefinition));
    return this;
  }

  /** Adds what several commands have in common. */
  with(add: (command: this) => unknown): this {
    add(this);
    return this;
  }

  /** Puts examples under the help, each with what it does. */
  examples(...examples: readonly (readonly [line: string, what: string])[]): this {
    const lines = examples.map(([line, what]) => `  $ ${line}\n      ${what}`);
    return this.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
  }
}

function settingOption(definition: SettingDefinition): Option {
  const byDefault = definition.default === null ? '' : `, default ${definition.default}`;
  const inFile = definition.secret === true ? ` or ${fileVariableOf(definition.env)}` : '';
  const description = `${definition.doc.replace(/\.$/, '')} (${definition.env}${inFile}${byDefault})`;
  return new Option(`${definition.flag} <${definition.placeholder}>`, description);
}
