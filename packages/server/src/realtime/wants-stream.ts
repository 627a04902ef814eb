/** Whether an `Accept` header asks for Server-Sent Events rather than JSON (RFC 9110 section 12.5.1). */
export function wantsStream(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('text/')) return false;
  const ranges = accept.split(',').map(readRange);
  const stream = quality(ranges, 'text', 'event-stream');
  const json = quality(ranges, 'application', 'json');
  // Who takes both as gladly, and says the rarer one by name, has a use for it.
  const isNamed = ranges.some(({ type, subtype }) => type === 'text' && subtype === 'event-stream');
  return stream > 0 && (stream > json || (stream === json && isNamed));
}

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
}

function readRange(text: string): Range {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const [type = '', subtype = ''] = range.split('/');
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return { type, subtype, quality: weight === undefined ? 1 : weightOf(weight) };
}

/** A weight that is none counts as 0: what is asked for so carelessly is not asked for. */
const weightOf = (text: string) => (/^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0);

/** That of the most specific range that takes the type; 0 where none does. */
function quality(ranges: readonly Range[], type: string, subtype: string): number {
  const exact = ranges.find((range) => range.type === type && range.subtype === subtype);
  const ofType = ranges.find((range) => range.type === type && range.subtype === '*');
  const any = ranges.find((range) => range.type === '*' && range.subtype === '*');
  return (exact ?? ofType ?? any)?.quality ?? 0;
}
