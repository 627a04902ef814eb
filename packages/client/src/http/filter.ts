import type { Location } from '../protocol.ts';
import type { Query } from './path.ts';

/** Which locations to read. */
export interface LocationFilter {
  /** Only what is at exactly this location. Default: everything. */
  readonly location?: Location | undefined;
  /** Also locations that match `location`: those with all of its pairs and more. Default: false. */
  readonly partialMatch?: boolean | undefined;
}

/** Which presence to read. */
export interface PresenceFilter extends LocationFilter {
  /** Leaves durable presence out. Default: false. */
  readonly excludeDurable?: boolean | undefined;
}

/** Which presence to read, and what of it. */
export interface PresenceReading extends PresenceFilter {
  /** `data`: what pages publish with their presence. `user`: names and pictures. Default: neither. */
  readonly expand?: 'data' | 'user' | 'data,user' | undefined;
}

/** Which threads to read. */
export interface ThreadFilter extends LocationFilter {
  /** Only threads that are resolved, or (false) only those that are not. Default: both. */
  readonly resolved?: boolean | undefined;
}

/** In which order to read messages. */
export interface MessageOrder {
  /** By `createdTimestamp`, then in the order of arrival. Default: `ascending`, the oldest first. */
  readonly order?: 'ascending' | 'descending' | undefined;
}

/** The group; optional when the token names one. */
export interface ViewerGroup {
  readonly groupID?: string | undefined;
}

/** The filter of a list or a stream. */
export interface Filter extends PresenceReading, ThreadFilter, MessageOrder, ViewerGroup {}

/** The query of a filter; of a larger object, such as the options of a watch, it takes these fields alone. */
export const filterQuery = ({
  groupID,
  location,
  partialMatch,
  excludeDurable,
  expand,
  resolved,
  order,
}: Filter): Query => ({
  groupID,
  location,
  partial_match: partialMatch,
  exclude_durable: excludeDurable,
  expand,
  resolved,
  order,
});
