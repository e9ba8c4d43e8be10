/** Of an `LRUCache` that keeps at most `max` entries, and takes room as they come: its own `max` takes room for all of them at once. */
export const atMost = (max: number) => ({ maxSize: max, sizeCalculation: () => 1 })
