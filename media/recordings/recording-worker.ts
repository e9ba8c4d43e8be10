import { parentPort } from 'node:worker_threads'
import { workAmongOthers } from '../kernel/thread-priority.ts'
import type { JobReply, JobRequest } from '../kernel/worker-jobs.ts'
import type { RecordingInfo } from '../protocol.ts'
import { makeRecording } from './recording-file.ts'

/** Makes the file of a recording whose raw channels are on the disk. */
export interface RecordingJob {
  dataDir: string
  recordingId: string
}

workAmongOthers()

parentPort?.on('message', ({ id, job }: JobRequest<RecordingJob>) => {
  const answer = makeRecording(job.dataDir, job.recordingId)
  parentPort?.postMessage({ id, answer } satisfies JobReply<RecordingInfo | { error: string }>)
})
