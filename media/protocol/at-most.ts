/** An `LRUCache` of at most `max` entries that allocates as they come. Its own option `max` allocates for all at once. */
export const atMost = (max: number) => ({ maxSize: max, sizeCalculation: () => 1 })
