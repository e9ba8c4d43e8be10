import { getHeapStatistics } from 'node:v8'

/** JavaScript memory of this thread: on its heap, and outside (buffers) [bytes]. */
export function heapGauges(thread: string): Record<string, number> {
  const { used_heap_size, external_memory } = getHeapStatistics()
  return { [`${thread}_heap_bytes`]: used_heap_size, [`${thread}_external_bytes`]: external_memory }
}
