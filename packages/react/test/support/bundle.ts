/** Bundles the test application with a version of React, as an application's own tools do. */
import { join } from 'node:path';
import { build, type Rolldown } from 'vite';

export type ReactVersion = '18' | '19';
export const REACT_VERSIONS: readonly ReactVersion[] = ['18', '19'];

const ROOT = join(import.meta.dirname, '../../../..');
const MODULES = {
  18: join(ROOT, 'packages/react-18/node_modules'),
  19: join(ROOT, 'node_modules'),
};

/** The text of one module with everything that `entry` imports. React is its development version, which warns. */
export async function bundle(
  entry: string,
  react: ReactVersion,
  platform: 'browser' | 'server',
): Promise<string> {
  const modules = MODULES[react];
  const result = await build({
    configFile: false,
    root: import.meta.dirname,
    logLevel: 'error',
    mode: 'development',
    define: { 'process.env.NODE_ENV': '"development"' },
    resolve: {
      alias: [
        { find: /^react(?=\/|$)/, replacement: join(modules, 'react') },
        { find: /^react-dom(?=\/|$)/, replacement: join(modules, 'react-dom') },
        {
          find: /^scheduler$/,
          replacement: join(react === '18' ? modules : join(ROOT, 'node_modules'), 'scheduler'),
        },
        { find: /^@rollcall\/client$/, replacement: join(ROOT, 'packages/client/src/index.ts') },
      ],
    },
    ssr: { noExternal: true },
    build: {
      write: false,
      minify: false,
      ssr: platform === 'server',
      rolldownOptions: {
        input: join(import.meta.dirname, '..', entry),
        output: { codeSplitting: false },
        preserveEntrySignatures: 'strict',
      },
    },
  });
  const { output } = result as Rolldown.RolldownOutput;
  return output[0].code;
}
