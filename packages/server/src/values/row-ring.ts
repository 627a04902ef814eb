const ROWS_MIN = 4;

/**
 * Rows of values in order: rows are added at the end and removed at the front. They are in one array, a ring that doubles when it
 * is full and never shrinks.
 *
 * It is for events that are stored for a while. V8 allocates objects of a kind that mostly lives on in the old generation at
 * once; there only a full collection frees them, which delays everything else. The values of a row are replaced in place.
 */
export class RowRing {
  readonly #width: number;
  #values: unknown[];
  /** One less than the rows for which there is room, whose number is a power of two. */
  #mask = ROWS_MIN - 1;
  /** Where the first row is, in rows. */
  #first = 0;
  #length = 0;

  /** @param width how many values a row has */
  constructor(width: number) {
    this.#width = width;
    this.#values = new Array<unknown>(ROWS_MIN * width).fill(undefined);
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a row of undefined values, and returns its index. */
  push(): number {
    if (this.#length > this.#mask) this.#grow();
    this.#length += 1;
    return this.indexOf(this.#length - 1);
  }

  /** Removes the first row. Indexes of other rows stay valid until one is added. */
  shift(): void {
    const index = this.indexOf(0);
    this.#values.fill(undefined, index, index + this.#width);
    this.#first = this.#rowAfter(1);
    this.#length -= 1;
  }

  /** The index of the row that is so many rows after the first one. */
  indexOf(rows: number): number {
    return this.#rowAfter(rows) * this.#width;
  }

  get(index: number, column: number): unknown {
    return this.#values[index + column];
  }

  set(index: number, column: number, value: unknown): void {
    this.#values[index + column] = value;
  }

  #rowAfter(rows: number): number {
    return (this.#first + rows) & this.#mask;
  }

  #grow(): void {
    const from = this.indexOf(0);
    const values = [...this.#values.slice(from), ...this.#values.slice(0, from)];
    this.#values = values.concat(new Array<unknown>(values.length).fill(undefined));
    this.#mask = 2 * this.#mask + 1;
    this.#first = 0;
  }
}
