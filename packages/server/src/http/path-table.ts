/** A route as the table knows it. */
interface Entry {
  readonly segments: readonly string[];
  readonly methods: Set<string>;
}

/**
 * The paths of the API and what each of them takes: which methods `Allow` names when another one was used. Only asked
 * when no route matched, so it looks at every entry.
 */
export class PathTable {
  readonly #entries = new Map<string, Entry>();

  add(url: string, methods: string | readonly string[]): void {
    const entry = this.#entries.get(url) ?? { segments: url.split('/'), methods: new Set<string>() };
    for (const method of [methods].flat()) entry.methods.add(method);
    this.#entries.set(url, entry);
  }

  /** The methods that the path of this URL takes; none when there is no such path. */
  methodsOf(url: string): string[] {
    const [path = ''] = url.split(/[?#]/, 1);
    const segments = path.split('/');
    const matching = [...this.#entries.values()].filter((entry) => fits(entry.segments, segments));
    return [...new Set(matching.flatMap(({ methods }) => [...methods]))].sort();
  }
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((segment, index) => segment.startsWith(':') || segment === segments[index])
  );
}
