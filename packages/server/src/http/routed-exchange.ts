import { Exchange } from './exchange.ts';
import type { Route } from './route.ts';

/** An exchange with its route, which operations do not see. */
export class RoutedExchange extends Exchange {
  /** Null where the path or the method is not one of the API. */
  route: Route | null = null;
}
