/** The real kubectl and helm, which render the manifests without a cluster. */
import { execFileSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseAllDocuments } from 'yaml';
import { findProgram, isRequired } from '../support/programs.ts';

/** Where .ci/kubernetes-tools puts them. */
const CACHE = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'rollcall/kubernetes-tools-2.2.2',
);

export const programs = { helm: findProgram(['helm'], [CACHE]), kubectl: findProgram(['kubectl'], [CACHE]) };

/** Why tests of manifests are skipped, or false. */
export const skipsKubernetes =
  Object.values(programs).includes(undefined) && !isRequired('kubernetes-tools')
    ? 'helm or kubectl is not in the PATH: .ci/kubernetes-tools installs both'
    : false;

/** An object of the API of Kubernetes. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  // biome-ignore lint/suspicious/noExplicitAny: the validation checks the shapes, and tests read single values.
  readonly [field: string]: any;
}

export type Labels = Readonly<Record<string, string>>;

/** Runs a program and returns what it prints. @throws Error with its standard error */
function run(name: keyof typeof programs, args: readonly string[]): string {
  return execFileSync(programs[name] ?? name, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

const objectsOf = (text: string): KubernetesObject[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);

/** The objects of a folder with a kustomization. */
export const kustomized = (directory: string): KubernetesObject[] =>
  objectsOf(run('kubectl', ['kustomize', directory]));

/** Runs helm and returns what it prints. */
export const helm = (...args: string[]): string => run('helm', args);

/** The objects of a release of the chart. */
export const released = (...args: string[]): KubernetesObject[] => objectsOf(helm('template', ...args));

/** The only object of a kind. */
export function only(objects: readonly KubernetesObject[], kind: string): KubernetesObject {
  const [found, ...others] = objects.filter((object) => object.kind === kind);
  if (found === undefined || others.length > 0) throw new Error(`${1 + others.length} or no ${kind}`);
  return found;
}
