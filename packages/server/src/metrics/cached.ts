/**
 * The value of `read`, read again when it is older than `maxAgeMs` on the clock: any number of callers costs one reading in that
 * time. So does a reading that failed: what it reads is away, and callers must not add to that.
 */
export function cached<Value>(
  read: () => Promise<Value>,
  maxAgeMs: number,
  clock: { now(): number },
): () => Promise<Value> {
  let known: { readonly at: number; readonly value: Promise<Value> } | null = null;
  return () => {
    const time = clock.now();
    // A clock that was set back makes a value old.
    if (known === null || time < known.at || time - known.at >= maxAgeMs) known = { at: time, value: read() };
    return known.value;
  };
}
