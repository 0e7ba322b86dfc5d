/**
 * The last items, and no more: whatever comes, memory stays bounded, by their number and by their weight.
 *
 * The rule: nothing is hidden. What fell out because there was no room is counted.
 */

export class Ring<T> {
  private readonly kept: (T | undefined)[];
  private readonly weights: Float64Array;
  private begin = 0;
  private size = 0;
  private weight = 0;
  private fell = 0;

  constructor(
    readonly capacity: number,
    readonly most: number = Number.POSITIVE_INFINITY,
  ) {
    this.kept = new Array<T | undefined>(capacity);
    this.weights = new Float64Array(capacity);
  }

  get length(): number {
    return this.size;
  }

  /** How many fell out since the ring was emptied last. */
  get dropped(): number {
    return this.fell;
  }

  push(item: T, weight = 0): void {
    // The newest is kept, however heavy it is.
    while (this.size > 0 && (this.size === this.capacity || this.weight + weight > this.most)) this.drop();
    const place = (this.begin + this.size) % this.capacity;
    this.kept[place] = item;
    this.weights[place] = weight;
    this.weight += weight;
    this.size += 1;
  }

  private drop(): void {
    this.kept[this.begin] = undefined;
    this.weight -= this.weights[this.begin] ?? 0;
    this.begin = (this.begin + 1) % this.capacity;
    this.size -= 1;
    this.fell += 1;
  }

  /** The item at a place, the newest first: 0 is what came last. */
  newest(place: number): T | undefined {
    if (place < 0 || place >= this.size) return undefined;
    return this.kept[(this.begin + this.size - 1 - place) % this.capacity];
  }

  /** All of it, the newest first. */
  list(): T[] {
    const items: T[] = [];
    for (let place = 0; place < this.size; place += 1) items.push(this.newest(place) as T);
    return items;
  }

  clear(): void {
    this.kept.fill(undefined);
    this.begin = 0;
    this.size = 0;
    this.weight = 0;
    this.fell = 0;
  }
}
