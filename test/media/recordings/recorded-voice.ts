/** Samples of a frame of 20 ms. */
export const FRAME = 160

/** A sample that identifies its position, and is never silent. */
export const voice = (at: number): number => ((at * 31) % 30_000) + 1
