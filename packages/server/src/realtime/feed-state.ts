import type { PresenceScope } from '../presence/presence-store.ts';
import { GroupView } from './group-view.ts';

/** How far a group has been followed, and who is where at that point. */
export class FeedState {
  readonly scope: PresenceScope;
  epoch = '';
  offset = 0;
  view = new GroupView();

  constructor(scope: PresenceScope) {
    this.scope = scope;
  }
}
