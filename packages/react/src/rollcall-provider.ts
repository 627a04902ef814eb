import type { RollcallClient } from '@rollcall/client';
import { createContext, createElement, type ReactElement, type ReactNode, useContext, useMemo } from 'react';

/** The client of the page, and the group that hooks use when they name none. */
export interface RollcallProviderProps {
  /** Create it once, outside of components, and close it with the page. */
  readonly client: RollcallClient;
  /** The group of hooks without `groupID`. Without it, the token names the group. */
  readonly groupID?: string | undefined;
  readonly children?: ReactNode;
}

interface Provided {
  readonly client: RollcallClient;
  readonly groupID: string | undefined;
}

const Context = createContext<Provided | null>(null);

/** Gives a client to the hooks of all components in it. It sends no request by itself. */
export function RollcallProvider({ client, groupID, children }: RollcallProviderProps): ReactElement {
  const value = useMemo(() => ({ client, groupID }), [client, groupID]);
  return createElement(Context.Provider, { value }, children);
}

/** The client of the nearest `RollcallProvider`. @throws Error outside of one */
export function useRollcall(): RollcallClient {
  return useProvided().client;
}

/** The client, and the group that was given or is the provider's. */
export function useProvided(groupID?: string): Provided {
  const provided = useContext(Context);
  if (provided === null) throw new Error('this hook needs a <RollcallProvider client={…}> around it');
  return groupID === undefined ? provided : { ...provided, groupID };
}
