import { getHeapStatistics } from 'node:v8'

/** What JavaScript of this thread holds: on its heap, and of memory outside (buffers) [bytes]. */
export function heapGauges(thread: string): Record<string, number> {
  const { used_heap_size, external_memory } = getHeapStatistics()
  return { [`${thread}_heap_bytes`]: used_heap_size, [`${thread}_external_bytes`]: external_memory }
}
