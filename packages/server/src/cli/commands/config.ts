import process from 'node:process';
import { SETTINGS, type SettingDefinition } from '../../config/setting-definitions.ts';
import { type FlagTexts, loadSettings, type SettingSource, settingSources } from '../../config/settings.ts';
import { unknownVariables } from '../../config/unknown-variables.ts';
import { checkEngine } from '../../wiring.ts';
import { noteLine, printJson, printTable } from '../output.ts';
import { RollcallCommand } from '../rollcall-command.ts';

export function configCommand(): RollcallCommand {
  return new RollcallCommand('config').description('Show the configuration.').addCommand(checkCommand());
}

function checkCommand(): RollcallCommand {
  return new RollcallCommand('check')
    .description(
      'Check the settings that "rollcall serve" would start with here, and show where each comes from.',
    )
    .option('--json', 'print {settings, warnings}')
    .settings()
    .action(check)
    .examples(
      ['rollcall config check', 'exit code 2 when a server would not start'],
      ['rollcall config check --port 9000', 'with the flags that the server gets'],
    );
}

/** @throws SettingsError when a server would not start with these */
async function check({ json, ...flags }: FlagTexts & { readonly json?: true }): Promise<void> {
  const settings = loadSettings(process.env, flags);
  await checkEngine(settings);
  const warnings = unknownVariables(process.env);
  const shown = settingSources(process.env, flags).map((source) =>
    shownSetting(source, settings[source.name]),
  );
  if (json === true) printJson({ settings: shown, warnings });
  else printSettings(shown, warnings);
}

interface ShownSetting {
  readonly name: string;
  readonly value: string | number | null;
  readonly from: SettingSource['from'];
}

function printSettings(settings: readonly ShownSetting[], warnings: readonly string[]): void {
  const rows = settings.map(({ name, value, from }) => [name, value === null ? '-' : String(value), from]);
  printTable(['SETTING', 'VALUE', 'FROM'], rows);
  for (const warning of warnings) noteLine(`warning: ${warning}`);
}

function shownSetting({ name, from }: SettingSource, value: string | number | null): ShownSetting {
  const { env, secret } = SETTINGS[name] as SettingDefinition;
  return { name: env, value: secret === true && value !== null ? '(set, not shown)' : value, from };
}
