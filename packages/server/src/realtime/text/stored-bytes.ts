/**
 * Bytes that are stored. Node cuts short buffers out of one of 64 KB, all of which stays in memory as long as one of them does;
 * these have memory of their own.
 */
export function storedBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** The same, of parts one after the other. */
export function storedConcat(parts: readonly Buffer[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
