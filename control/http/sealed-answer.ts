import { plainSize, recordingKey, unsealed } from '../../media/protocol.ts'
import type { Problem } from './errors.ts'
import type { RawAnswer } from './route.ts'
import { downloadAnswer, fileAnswer, sizeOf } from './wire/file-answer.ts'

/** A recording's file, or a form of it. If it is encrypted, the requested part is decrypted on its way out. */
export async function recordingAnswer(
  { dataDir, id, path, encrypted }: { dataDir: string; id: string; path: string; encrypted: boolean },
  contentType: string,
  range: string | string[] | undefined,
): Promise<RawAnswer | Problem | null> {
  if (!encrypted) return fileAnswer(path, contentType, range)
  const sizeOnDisk = await sizeOf(path)
  if (sizeOnDisk === null) return null
  const key = recordingKey(dataDir, id)
  const size = plainSize(sizeOnDisk)
  const read = (first = 0, last = size - 1) => unsealed(path, key, first, last)
  return downloadAnswer({ size, read }, contentType, range)
}
