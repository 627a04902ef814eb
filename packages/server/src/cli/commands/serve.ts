import process from 'node:process';
import { type FlagTexts, loadSettings } from '../../config/settings.ts';
import { RollcallCommand } from '../rollcall-command.ts';

export function serveCommand(): RollcallCommand {
  return new RollcallCommand('serve')
    .description('Run the server. Every flag has an environment variable; the flag wins.')
    .settings()
    .action(async (flags: FlagTexts) => {
      const settings = loadSettings(process.env, flags);
      // Loaded here, so that no other command waits for the code of the server.
      const { serveUntilStopped } = await import('../../serve.ts');
      // Everything is closed: timers or sockets that are left must not delay the end of the process.
      process.exit(await serveUntilStopped(settings, process.env));
    })
    .examples(
      ['rollcall serve', 'on 127.0.0.1:8080, with the embedded store in ./data'],
      [
        'rollcall serve --host 0.0.0.0 --port 9000 --data-dir /var/lib/rollcall',
        'reachable from outside, data elsewhere',
      ],
      ['ROLLCALL_LOG_LEVEL=debug rollcall serve', 'one log line for each request'],
    );
}
