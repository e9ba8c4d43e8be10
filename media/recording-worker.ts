import { parentPort } from 'node:worker_threads'
import type { RecordingInfo } from './protocol.ts'
import { makeRecording } from './recording-file.ts'
import type { JobReply, JobRequest } from './worker-jobs.ts'

/** Makes the file of a recording whose raw channels are on the disk. */
export interface RecordingJob {
  dataDir: string
  recordingId: string
}

parentPort?.on('message', ({ id, job }: JobRequest<RecordingJob>) => {
  const answer = makeRecording(job.dataDir, job.recordingId)
  parentPort?.postMessage({ id, answer } satisfies JobReply<RecordingInfo | { error: string }>)
})
