/** Less than this is copied to another thread in less time than its transfer takes, in bytes. */
const TRANSFERRED_FROM_BYTES = 64 * 1_024;

/**
 * The buffers to transfer with a message, so that these bytes are moved to the other thread instead of copied; they are
 * gone here then. A buffer that has other bytes too, as those of Node's pool do, is left to be copied.
 */
export function transferable(...parts: readonly (Uint8Array | undefined)[]): ArrayBuffer[] {
  return parts.flatMap((bytes) => {
    if (bytes === undefined || bytes.byteLength < TRANSFERRED_FROM_BYTES) return [];
    const { buffer } = bytes;
    return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength ? [buffer] : [];
  });
}

/** The same of a write's parameters: the body of a batch, and packed lists of IDs. */
export const transferableOf = (parameters: readonly unknown[]): ArrayBuffer[] =>
  parameters.flatMap((parameter) =>
    typeof parameter === 'object' && parameter !== null
      ? transferable(...Object.values(parameter).map(bytesOf))
      : [],
  );

function bytesOf(value: unknown): Uint8Array | undefined {
  const bytes = value instanceof Uint8Array ? value : (value as { bytes?: unknown } | null)?.bytes;
  return bytes instanceof Uint8Array ? bytes : undefined;
}
