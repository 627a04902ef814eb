/** Whether an `Accept` header prefers Server-Sent Events to JSON. */
export const wantsStream = (accept: string | undefined) => prefersToJson(accept, 'text/event-stream');

/** Whether an `Accept` header prefers a page to JSON, as those of browsers do. */
export const wantsPage = (accept: string | undefined) => prefersToJson(accept, 'text/html');

/** Weighs the ranges of an `Accept` header (RFC 9110 section 12.5.1). */
function prefersToJson(accept: string | undefined, type: `text/${string}`): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('text/')) return false;
  // Of equal ranges the first one counts.
  const qualities = new Map(accept.split(',').map(readRange).reverse());
  const text = quality(qualities, type, 'text/*');
  const json = quality(qualities, 'application/json', 'application/*');
  // With equal weights, a client that names the type wants it.
  return text > 0 && (text > json || (text === json && qualities.has(type)));
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
