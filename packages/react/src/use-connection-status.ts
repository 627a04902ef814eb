import type { ConnectionStatus } from '@rollcall/client';
import { useSyncExternalStore } from 'react';
import { useRollcall } from './rollcall-provider.ts';

const CONNECTING: ConnectionStatus = { state: 'connecting', reason: null };
const getServer = () => CONNECTING;

/** Whether the client is connected: `{ state, reason }`. On a server it is `connecting`. */
export function useConnectionStatus(): ConnectionStatus {
  const { status } = useRollcall();
  return useSyncExternalStore(status.subscribe, status.get, getServer);
}
