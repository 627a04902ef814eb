/** Less than this is copied to another thread in less time than its transfer takes, in bytes. */
const TRANSFERRED_FROM_BYTES = 64 * 1_024;

/**
 * The buffers to transfer with a message, so that these bytes are moved to the other thread instead of copied; here they
 * are gone then. A buffer that holds other bytes too, as those of Node's pool do, is left to be copied.
 */
export function transferable(...parts: readonly (Uint8Array | undefined)[]): ArrayBuffer[] {
  return parts.flatMap((bytes) => {
    if (bytes === undefined || bytes.byteLength < TRANSFERRED_FROM_BYTES) return [];
    const { buffer } = bytes;
    return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength ? [buffer] : [];
  });
}
