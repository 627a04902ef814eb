import type { RollcallClient } from '@rollcall/client';

/**
 * Calls the listener each time the client is connected again after the connection was lost or closed: what had ended with an error
 * may be mended by then. Returns the function that unsubscribes.
 */
export function onConnectedAgain({ status }: RollcallClient, listener: () => void): () => void {
  let isLost = false;
  return status.subscribe(() => {
    const { state } = status.get();
    // `connecting` is no loss: over HTTP, each stream is that before it is open.
    if (state === 'open' && isLost) {
      isLost = false;
      listener();
    } else isLost ||= state === 'reconnecting' || state === 'closed';
  });
}
