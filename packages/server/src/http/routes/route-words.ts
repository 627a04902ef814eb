import type { GroupNoun } from '../../core/refusals.ts';

/** A route with an ID in its path. */
export interface ById {
  Params: { id: string };
}

/** How the routes of groups are named, for each word that hosts have for a group. */
export interface GroupWords {
  readonly noun: GroupNoun;
  readonly path: string;
  /** As it stands in operation IDs. */
  readonly Noun: string;
  /** As it stands in summaries. */
  readonly aNoun: string;
  readonly tags: readonly string[];
}

export const GROUPS: GroupWords = {
  noun: 'group',
  path: '/v1/groups',
  Noun: 'Group',
  aNoun: 'a group',
  tags: ['groups'],
};

export const ORGANIZATIONS: GroupWords = {
  noun: 'organization',
  path: '/v1/organizations',
  Noun: 'Organization',
  aNoun: 'an organization',
  tags: ['organizations'],
};
