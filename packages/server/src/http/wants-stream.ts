/** Whether an `Accept` header prefers Server-Sent Events to JSON (RFC 9110 section 12.5.1). */
export function wantsStream(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('text/')) return false;
  // Of equal ranges the first one counts.
  const qualities = new Map(accept.split(',').map(readRange).reverse());
  const stream = quality(qualities, 'text/event-stream', 'text/*');
  const json = quality(qualities, 'application/json', 'application/*');
  // With equal weights, a client that names the stream's type wants the stream.
  return stream > 0 && (stream > json || (stream === json && qualities.has('text/event-stream')));
}

/** A range and its weight. An invalid weight counts as 0. */
function readRange(text: string): [range: string, quality: number] {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  return [range, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0];
}

/** The quality of the most specific range; 0 where no range accepts the type. */
const quality = (qualities: ReadonlyMap<string, number>, type: string, family: string): number =>
  qualities.get(type) ?? qualities.get(family) ?? qualities.get('*/*') ?? 0;
