/**
 * A long list that is read a page at a time and never held whole.
 *
 * Each page is remembered by the cursor it begins at and how many rows it has; the rows themselves are kept only near
 * what is looked at, and read again when somebody scrolls back. Rows change in place (`patch`) and never move by
 * themselves: only `restart` reads the list anew.
 */

export interface Portion<Row> {
  items: Row[];
  cursor?: string | null;
  /** There is more, but not in this list. */
  cut?: boolean;
}

export type Load<Row> = (cursor: string | null, signal: AbortSignal) => Promise<Portion<Row>>;

interface Page<Row> {
  cursor: string | null;
  /** The index of its first row. */
  first: number;
  count: number;
  rows: Row[] | null;
  asked: boolean;
}

/** So many pages on each side of what is looked at are kept. */
const NEAR = 4;

export class Pages<Row extends { id: string }> {
  error: unknown = null;
  /** Whether the first page has been read, and is not being read anew for the first time. */
  begun = false;
  /** Whether the list is known to its end. */
  ended = false;
  /** Whether more fits than the list has. */
  cut = false;
  private pages: Page<Row>[] = [];
  private next: string | null = null;
  private more = false;
  private readonly heard = new Set<() => void>();
  private life = new AbortController();
  private number = 0;
  private seen: [number, number] = [0, 0];

  constructor(private readonly load: Load<Row>) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.heard.add(listener);
    return () => this.heard.delete(listener);
  };

  /** Changes with every change of the list. */
  readonly version = (): number => this.number;

  /** Whether more of it is being read. A rare filter takes many pages that are empty. */
  get busy(): boolean {
    return this.more;
  }

  get count(): number {
    const last = this.pages.at(-1);
    return last === undefined ? 0 : last.first + last.count;
  }

  /** How many rows are held; the rest is read again when it is looked at. */
  get held(): number {
    return this.pages.reduce((sum, page) => sum + (page.rows?.length ?? 0), 0);
  }

  /** The row at an index; undefined while it is not held. */
  at(index: number): Row | undefined {
    const page = this.pages[this.pageOf(index)];
    return page?.rows?.[index - page.first];
  }

  /** The rows that are held between two indices, the last included. */
  between(from: number, to: number): Row[] {
    const found: Row[] = [];
    for (let index = Math.max(from, 0); index <= to; index += 1) {
      const row = this.at(index);
      if (row !== undefined) found.push(row);
    }
    return found;
  }

  /** The first held row that fits, and its index. */
  find(fits: (row: Row) => boolean): number {
    for (const page of this.pages) {
      const index = page.rows?.findIndex(fits) ?? -1;
      if (index >= 0) return page.first + index;
    }
    return -1;
  }

  /** See that the rows from one index to another are there, or on their way; let go of what is far off. */
  look(from: number, to: number): void {
    this.seen = [from, to];
    if (!this.begun) {
      if (!this.more && this.error === null) void this.restart();
      return;
    }
    const first = Math.max(this.pageOf(from), 0);
    const last = Math.max(this.pageOf(to), first);
    for (let each = first; each <= last; each += 1) {
      const page = this.pages[each];
      if (page !== undefined && page.rows === null && !page.asked) void this.again(page);
    }
    for (const [each, page] of this.pages.entries()) {
      if (page.rows !== null && (each < first - NEAR || each > last + NEAR)) page.rows = null;
    }
    if (to >= this.count - 1 && !this.ended && !this.more && this.error === null) void this.further();
  }

  /** Read the list anew from its beginning. What is shown stays until the first page is there. */
  async restart(): Promise<void> {
    this.stop();
    const { signal } = this.life;
    this.more = true;
    this.error = null;
    try {
      const found = await this.load(null, signal);
      if (signal.aborted) return;
      this.pages = [{ cursor: null, first: 0, count: found.items.length, rows: found.items, asked: false }];
      this.went(found);
      this.begun = true;
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
    }
    this.more = false;
    this.tell();
    if (this.error === null) this.look(...this.seen);
  }

  /** Put newer versions of rows in the places of the old ones. */
  patch(rows: readonly Row[]): void {
    const newer = new Map(rows.map((row) => [row.id, row]));
    let changed = false;
    for (const page of this.pages) {
      if (page.rows?.some((row) => newer.has(row.id))) {
        page.rows = page.rows.map((row) => newer.get(row.id) ?? row);
        changed = true;
      }
    }
    if (changed) this.tell();
  }

  /** Try again what went wrong. */
  retry(): void {
    this.error = null;
    this.tell();
    if (this.begun) this.look(...this.seen);
    else void this.restart();
  }

  /** Let go of what is being read; looking goes on from what is there. */
  stop(): void {
    this.life.abort();
    this.life = new AbortController();
    this.more = false;
  }

  private async further(): Promise<void> {
    const { signal } = this.life;
    const cursor = this.next;
    this.more = true;
    try {
      const found = await this.load(cursor, signal);
      if (signal.aborted) return;
      this.pages.push({ cursor, first: this.count, count: found.items.length, rows: found.items, asked: false });
      this.went(found);
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
    }
    this.more = false;
    this.tell();
    if (this.error === null) this.look(...this.seen);
  }

  private async again(page: Page<Row>): Promise<void> {
    const { signal } = this.life;
    page.asked = true;
    try {
      const found = await this.load(page.cursor, signal);
      if (signal.aborted) return;
      page.rows = found.items;
      if (found.items.length !== page.count) {
        page.count = found.items.length;
        let first = 0;
        for (const each of this.pages) {
          each.first = first;
          first += each.count;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
    } finally {
      page.asked = false;
    }
    this.tell();
  }

  private went(found: Portion<Row>): void {
    this.next = found.cursor ?? null;
    this.ended = this.next === null;
    this.cut = found.cut ?? false;
  }

  private pageOf(index: number): number {
    let low = 0;
    let high = this.pages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.pages[middle] as Page<Row>).first <= index) low = middle;
      else high = middle - 1;
    }
    return high < 0 ? -1 : low;
  }

  private tell(): void {
    this.number += 1;
    for (const listener of this.heard) listener();
  }
}
