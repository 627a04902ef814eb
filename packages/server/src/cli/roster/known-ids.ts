/** The IDs that later lines of a dry run may name: of earlier lines that passed, and of what the server has. */
export interface KnownIds {
  readonly users: Set<string>;
  readonly groups: Set<string>;
  readonly threads: Set<string>;
}

export const noKnownIds = (): KnownIds => ({ users: new Set(), groups: new Set(), threads: new Set() });
