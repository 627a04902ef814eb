/** `@rollcall/client/changes`: what writes changed, for a backend that follows it. */
export type { ChangeList, RecordedChange } from '../protocol.ts';
export { Changes, type ChangesFilter, type ChangesPage, type ChangesWatch, changesOf } from './changes.ts';
