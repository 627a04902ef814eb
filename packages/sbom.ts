/**
 * Writes the bill of materials of the server into `dist`, in CycloneDX: all that its package installs, in the versions of the lock
 * file. `npm sbom --omit dev` leaves out what development needs as well, such as pg-protocol; so its whole text is filtered.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from './server/package.json' with { type: 'json' };

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
}
interface Bom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const ROOT = join(import.meta.dirname, '..');
const OUTPUT_MAX_BYTES = 64 * 1_024 * 1_024;

/** What the lock file has; nothing has to be installed. */
function lockedBom(): Bom {
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
  return JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: OUTPUT_MAX_BYTES }));
}

/** npm gives packages of a workspace the names of their folders. */
const named = (component: Component): Component => {
  const ref = component['bom-ref'];
  return { ...component, name: ref.slice(0, ref.lastIndexOf('@')) };
};

/** The part of it that a package of ours needs, however indirectly. */
function bomOf({ name, version }: { name: string; version: string }, bom: Bom): Bom {
  const ref = `${name}@${version}`;
  const needed = new Set([ref]);
  for (const each of needed)
    for (const next of bom.dependencies.find(({ ref }) => ref === each)?.dependsOn ?? []) needed.add(next);
  const component = bom.components.find((each) => each['bom-ref'] === ref);
  if (component === undefined) throw new Error(`the lock file has no ${ref}`);
  return {
    ...bom,
    metadata: { ...bom.metadata, component: { ...named(component), type: 'application' } },
    components: bom.components.filter((each) => each !== component && needed.has(each['bom-ref'])).map(named),
    dependencies: bom.dependencies.filter((each) => needed.has(each.ref)),
  };
}

const dist = join(ROOT, 'dist');
mkdirSync(dist, { recursive: true });
const file = join(dist, `rollcall-server-${manifest.version}.cdx.json`);
writeFileSync(file, `${JSON.stringify(bomOf(manifest, lockedBom()), null, 2)}\n`);
process.stdout.write(`${file}\n`);
