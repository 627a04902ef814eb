import process from 'node:process';
import { Command } from 'commander';
import { type FlagTexts, loadSettings } from '../../config/settings.ts';
import { withExamples } from '../examples.ts';
import { addSettingOptions } from '../setting-options.ts';

/** `rollcall serve`: the server, until it is told to stop. */
export function serveCommand(): Command {
  const command = new Command('serve').description(
    'Run the server. Every flag has an environment variable; the flag wins.',
  );
  addSettingOptions(command).action(async (flags: FlagTexts) => {
    const settings = loadSettings(process.env, flags);
    // Loaded here, so that no other command waits for the code of the server.
    const { serveUntilStopped } = await import('../../serve.ts');
    // A server that has closed everything has nothing to wait for, whatever still holds the process.
    process.exit(await serveUntilStopped(settings, process.env));
  });
  return withExamples(
    command,
    ['rollcall serve', 'on 127.0.0.1:8080, with the embedded store in ./data'],
    [
      'rollcall serve --host 0.0.0.0 --port 9000 --data-dir /var/lib/rollcall',
      'reachable from outside, data elsewhere',
    ],
    ['ROLLCALL_LOG_LEVEL=debug rollcall serve', 'one log line for each request'],
  );
}
